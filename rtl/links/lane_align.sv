// SPDX-License-Identifier: Apache-2.0
//
// lane_align: aligns the four lanes of stuffing_send, which may arrive up to 8 words apart.
//
// In:  in_lanes, each lane aligned to its own words (by a transceiver's comma alignment).
// Out: lanes in step; is_aligned, after two ALIGN words in a row with the same skew; delays, 4 bits a lane;
//      skewed: pulse, an ALIGN word did not come on all lanes, within 8 words, as before (after four in a row, or 2**15
//      words without any, the lanes are searched anew).
// Latency: 11 cycles from the word on the lane that comes first; always the same.

module lane_align (
    input  logic         clk,
    input  logic         rst,
    input  logic [127:0] in_lanes,
    output logic [127:0] lanes,
    output logic         is_aligned,
    output logic [15:0]  delays,
    output logic         skewed
);

    localparam [7:0] ALIGN = 8'h02;

    logic [127:0] in_q;
    logic [3:0]   was_magic_q, mark_q, write_q;
    integer i;
    always_ff @(posedge clk) begin
        in_q <= in_lanes;
        for (i = 0; i < 4; i = i + 1) begin
            was_magic_q[i] <= in_q[32*i+:32] == {28'h6ba51e7, i[3:0]};
            mark_q[i]      <= was_magic_q[i] && in_q[32*i+24+:8] == ALIGN;
        end
        write_q <= rst ? 4'd0 : write_q + 4'd1;
    end

    logic [15:0] delays_q;
    genvar l;
    generate
        for (l = 0; l < 4; l = l + 1) begin : of_lane
            logic [31:0] ram [0:15];
            logic [31:0] out_q;
            wire  [3:0]  read = write_q - 4'd1 - delays_q[4*l+:4];
            always_ff @(posedge clk) begin
                ram[write_q] <= in_q[32*l+:32];
                out_q        <= ram[read];
            end
            assign lanes[32*l+:32] = out_q;
        end
    endgenerate

    // A measurement lasts 8 words from the first lane's mark on; a lane's delay is its time until that end.
    logic        looks_q, closes_q, is_aligned_q, was_aligned_q, found_q, skewed_q;
    logic [3:0]  left_q, got_q;
    logic [15:0] new_q, seen_q;
    logic [14:0] silence_q;
    logic [1:0]  n_bad_q;
    wire         begins = !looks_q && mark_q != 4'd0;
    wire         same   = got_q == 4'hf && found_q && new_q == seen_q;
    integer n;
    always_ff @(posedge clk) begin
        // One cycle later: the first word by the new delays is out then.
        was_aligned_q <= is_aligned_q && !rst;
        skewed_q <= 1'b0;
        closes_q <= looks_q && left_q == 4'd1;
        for (n = 0; n < 4; n = n + 1)
            if (mark_q[n] && (begins || (looks_q && !got_q[n]))) new_q[4*n+:4] <= begins ? 4'd8 : left_q - 4'd1;
        if (begins) got_q <= mark_q;
        else if (looks_q) got_q <= got_q | mark_q;
        left_q    <= begins ? 4'd8 : left_q - 4'd1;
        silence_q <= (closes_q || rst) ? 15'd0 : silence_q + 15'd1;

        if (rst) begin
            looks_q      <= 1'b0;
            closes_q     <= 1'b0;
            is_aligned_q <= 1'b0;
            found_q      <= 1'b0;
            n_bad_q      <= 2'd0;
            delays_q     <= 16'd0;
        end else begin
            if (begins) looks_q <= 1'b1;
            else if (left_q == 4'd1) looks_q <= 1'b0;

            if (closes_q && !is_aligned_q) begin
                found_q <= got_q == 4'hf;
                seen_q  <= new_q;
                if (same) begin
                    is_aligned_q <= 1'b1;
                    delays_q     <= seen_q;
                    n_bad_q      <= 2'd0;
                end
            end else if (closes_q) begin
                skewed_q <= !same;
                n_bad_q  <= same ? 2'd0 : n_bad_q + 2'd1;
                if (!same && n_bad_q == 2'd3) {is_aligned_q, found_q} <= 2'b00;
            end else if (silence_q == 15'h7fff) begin
                {is_aligned_q, found_q} <= 2'b00;
            end
        end
    end

    assign is_aligned = is_aligned_q && was_aligned_q;
    assign delays     = delays_q;
    assign skewed     = skewed_q;

endmodule
