// SPDX-License-Identifier: Apache-2.0
//
// word_delay: a counted delay of 0 to 15 words, which makes the latency of a link the same after every reset.
//
// In:  word, start (a frame begins with it), is_locked (word and start mean something); slipped: the line's delay has
//      gone past a word's boundary less a turn than others may; use_reference, frame_reference: see below.
// Out: out_word, out_start, is_aligned; delay, the words waited; moved: pulse, a frame that came at another distance
//      from the reference than the one that was counted (four in a row: it is counted anew).
// Latency: 2 + delay cycles.
// Without a reference the delay is 0 or 1 (slipped). With one, a pulse once a frame in step with the sender's frames, a
// frame leaves 3 cycles after the pulse, wherever in the 16 words before it the frame arrived.
// Parameters: WIDTH, bits of a word.

module word_delay #(
    parameter WIDTH = 22
) (
    input  logic             clk,
    input  logic             rst,
    input  logic [WIDTH-1:0] word,
    input  logic             start,
    input  logic             is_locked,
    input  logic             slipped,
    input  logic             use_reference,
    input  logic             frame_reference,
    output logic [WIDTH-1:0] out_word,
    output logic             out_start,
    output logic             is_aligned,
    output logic [3:0]       delay,
    output logic             moved
);

    logic [WIDTH:0] ram [0:31];
    logic [WIDTH:0] out_q;
    logic [4:0]     write_q, age_q;
    logic [3:0]     delay_q;
    logic [1:0]     n_moved_q;
    logic           is_aligned_q, moved_q, seen_q;

    // Cycles since the last start, one cycle later than the input; from 16 on a start is too old to be aligned.
    wire       is_young = !age_q[4];
    wire       counts   = is_locked && seen_q && frame_reference;
    wire       differs  = !is_young || age_q[3:0] != delay_q;
    wire [4:0] read     = write_q - 5'd1 - {1'b0, delay_q};

    always_ff @(posedge clk) begin
        ram[write_q] <= {start, word};
        out_q        <= ram[read];
        write_q      <= rst ? 5'd0 : write_q + 5'd1;
    end

    always_ff @(posedge clk) begin
        moved_q <= use_reference && counts && is_aligned_q && differs;
        if (start) age_q <= 5'd0;
        else if (is_young) age_q <= age_q + 5'd1;

        if (rst || !is_locked) begin
            is_aligned_q <= 1'b0;
            seen_q       <= 1'b0;
            delay_q      <= 4'd0;
            n_moved_q    <= 2'd0;
        end else if (!use_reference) begin
            seen_q       <= start || seen_q;
            is_aligned_q <= 1'b1;
            delay_q      <= {3'd0, slipped};
        end else begin
            seen_q <= start || seen_q;
            if (counts) begin
                if (!is_aligned_q) begin
                    is_aligned_q <= is_young;
                    delay_q      <= age_q[3:0];
                    n_moved_q    <= 2'd0;
                end else begin
                    n_moved_q <= differs ? n_moved_q + 2'd1 : 2'd0;
                    if (differs && n_moved_q == 2'd3) is_aligned_q <= 1'b0;
                end
            end
        end
    end

    assign out_word   = out_q[WIDTH-1:0];
    assign out_start  = out_q[WIDTH] && is_aligned_q;
    assign is_aligned = is_aligned_q;
    assign delay      = delay_q;
    assign moved      = moved_q;

endmodule
