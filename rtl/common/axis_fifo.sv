// SPDX-License-Identifier: Apache-2.0
//
// axis_fifo: a FIFO of whole frames: a frame is readable once its last word has come without s_drop.
//
// In:  words of frames (s_*). s_drop with s_tlast discards the frame. s_early, constant in a frame, makes each word
//      readable at once; s_drop is then ignored, and the writer must have seen enough free_words before the first word.
//      A writer may ignore s_tready: a frame that does not fit is lost as a whole.
// Out: words (m_*); free_words, one cycle old; losing: a word of the frame that is being
//      written found no place; overflow: one pulse for each frame that was not dropped and did not fit.
// Latency: 3 cycles from the last word's entry to the first word out; with s_early and nothing stored, 1 cycle.
// Parameters: WIDTH of a word; DEPTH_LOG2: the RAM holds 2**DEPTH_LOG2 words, and two registers after it one word each.

module axis_fifo #(
    parameter WIDTH      = 72,
    parameter DEPTH_LOG2 = 9
) (
    input  logic                clk,
    input  logic                rst,

    input  logic [WIDTH-1:0]    s_tdata,
    input  logic                s_tvalid,
    output logic                s_tready,
    input  logic                s_tlast,
    input  logic                s_drop,
    input  logic                s_early,

    output logic [WIDTH-1:0]    m_tdata,
    output logic                m_tvalid,
    input  logic                m_tready,
    output logic                m_tlast,

    output logic [DEPTH_LOG2:0] free_words,
    output logic                losing,
    output logic                overflow
);

    localparam [DEPTH_LOG2:0] DEPTH = 1 << DEPTH_LOG2;
    localparam [DEPTH_LOG2:0] ONE   = 1;

    logic [WIDTH:0] ram [0:(1 << DEPTH_LOG2)-1];

    // Pointers have one bit more than an address, so that full and empty differ. The reader sees words before commit_q.
    logic [DEPTH_LOG2:0] write_q, commit_q, read_q, free_q;
    logic                lost_q, overflow_q;

    logic [WIDTH:0] ram_q, out_q;
    logic           ram_valid_q, out_valid_q;

    wire full = (write_q[DEPTH_LOG2-1:0] == read_q[DEPTH_LOG2-1:0]) && (write_q[DEPTH_LOG2] != read_q[DEPTH_LOG2]);
    wire out_free = !out_valid_q || m_tready;
    wire ram_free = !ram_valid_q || out_free;

    // An early word that finds nothing before it goes straight to the output register.
    wire direct = s_tvalid && s_early && !lost_q && (write_q == read_q) && !ram_valid_q && out_free;

    wire lost   = lost_q || (full && !direct);
    wire store  = s_tvalid && !direct && !lost;
    wire commit = store && (s_early || (s_tlast && !s_drop));
    wire rewind = s_tvalid && s_tlast && !s_early && (lost || s_drop);

    wire [DEPTH_LOG2:0] write_next = write_q + ONE;

    always_ff @(posedge clk) begin
        if (rst) begin
            write_q    <= '0;
            commit_q   <= '0;
            lost_q     <= 1'b0;
            overflow_q <= 1'b0;
        end else begin
            if (rewind) write_q <= commit_q;
            else if (store) write_q <= write_next;
            if (commit) commit_q <= write_next;
            if (s_tvalid) lost_q <= lost && !s_tlast;
            overflow_q <= s_tvalid && s_tlast && lost && (s_early || !s_drop);
        end
        free_q <= DEPTH - (write_q - read_q);
    end

    wire read = ram_free && (read_q != commit_q);

    always_ff @(posedge clk) begin
        if (store) ram[write_q[DEPTH_LOG2-1:0]] <= {s_tlast, s_tdata};
        if (read) ram_q <= ram[read_q[DEPTH_LOG2-1:0]];
    end

    always_ff @(posedge clk) begin
        if (out_free) out_q <= ram_valid_q ? ram_q : {s_tlast, s_tdata};
        if (rst) begin
            read_q      <= '0;
            ram_valid_q <= 1'b0;
            out_valid_q <= 1'b0;
        end else begin
            if (read) read_q <= read_q + ONE;
            if (ram_free) ram_valid_q <= read;
            if (out_free) out_valid_q <= ram_valid_q || direct;
        end
    end

    assign s_tready   = !full;
    assign m_tdata    = out_q[WIDTH-1:0];
    assign m_tlast    = out_q[WIDTH];
    assign m_tvalid   = out_valid_q;
    assign free_words = free_q;
    assign losing     = lost_q;
    assign overflow   = overflow_q;

endmodule
