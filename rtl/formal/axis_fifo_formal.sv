// SPDX-License-Identifier: Apache-2.0
//
// axis_fifo_formal: checks the guarantees of axis_fifo for every sequence of frames and stalls up to a bound.
//
// In:  everything free, under the writer's contract: s_early is constant in a frame, and an early word comes only when
//      s_tready holds.
// Asserted: each word of a frame that was wanted and not counted by overflow comes out once, in order, unchanged (one
//      word of arbitrary number is watched); nothing else comes out; the output is stable while it is stalled; a readable
//      word waits at most 2 cycles while the output is empty; overflow only if a word met a full RAM.

module axis_fifo_formal (
    input logic       clk,
    input logic       rst,
    input logic        s_tdata,
    input logic       s_tvalid,
    input logic       s_tlast,
    input logic       s_drop,
    input logic       s_early,
    input logic       m_tready
);

    logic       s_tready, m_tvalid, m_tlast, losing, overflow;
    logic       m_tdata;
    logic [1:0] free_words;

    axis_fifo #(.WIDTH(1), .DEPTH_LOG2(1)) fifo (
        .clk(clk), .rst(rst), .s_tdata(s_tdata), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
        .s_drop(s_drop), .s_early(s_early), .m_tdata(m_tdata), .m_tvalid(m_tvalid), .m_tready(m_tready),
        .m_tlast(m_tlast), .free_words(free_words), .losing(losing), .overflow(overflow)
    );

    logic       started = 1'b0;
    always @(posedge clk) started <= 1'b1;
    always @(*) if (!started) assume (rst); else assume (!rst);

    // The writer's contract.
    logic in_frame, was_early;
    always @(posedge clk) begin
        if (rst) in_frame <= 1'b0;
        else if (s_tvalid) in_frame <= !s_tlast;
        was_early <= s_early;
    end
    always @(*) begin
        if (in_frame) assume (s_early == was_early);
        if (s_tvalid && s_early) assume (s_tready);
    end

    // Numbers of words: base is the number of the frame's first word, once all earlier frames that count are known; the
    // outcome of the previous frame is known one cycle after its last word.
    (* anyconst *) logic [3:0] watched;
    logic [3:0] base_q, n_words, n_pending, n_out;
    logic       pending, met_full, pending_met_full;
    logic [1:0] word;
    logic       word_known;

    wire [3:0] base = base_q + ((pending && !overflow) ? n_pending : 4'd0);
    wire [3:0] number = base + n_words;

    always @(posedge clk) begin
        if (rst) begin
            base_q           <= 4'd0;
            n_words          <= 4'd0;
            n_pending        <= 4'd0;
            n_out            <= 4'd0;
            pending          <= 1'b0;
            met_full         <= 1'b0;
            pending_met_full <= 1'b0;
            word_known       <= 1'b0;
        end else begin
            base_q  <= base;
            pending <= 1'b0;
            if (s_tvalid) begin
                n_words  <= s_tlast ? 4'd0 : n_words + 4'd1;
                met_full <= !s_tlast && (met_full || !s_tready);
                if (number == watched) begin
                    word       <= {s_tlast, s_tdata};
                    word_known <= 1'b1;
                end
                if (s_tlast) begin
                    pending          <= s_early || !s_drop;
                    n_pending        <= n_words + 4'd1;
                    pending_met_full <= met_full || !s_tready;
                end
            end
            if (m_tvalid && m_tready) n_out <= n_out + 4'd1;
        end
    end

    // Words that may be read: those of all frames that count, and of an early frame so far.
    wire [3:0] readable = base + ((in_frame && was_early) ? n_words : 4'd0);
    logic [1:0] waiting;
    always @(posedge clk) waiting <= (rst || m_tvalid || readable == n_out) ? 2'd0 : waiting + 2'd1;

    logic       held;
    logic [1:0] held_word;
    always @(posedge clk) begin
        held      <= !rst && m_tvalid && !m_tready;
        held_word <= {m_tlast, m_tdata};
    end

    always @(posedge clk) begin
        if (started && !rst) begin
            assert (n_out <= readable);
            if (m_tvalid) assert (n_out < readable);
            if (m_tvalid && n_out == watched) assert (word_known && {m_tlast, m_tdata} == word);
            if (held) assert (m_tvalid && {m_tlast, m_tdata} == held_word);
            assert (waiting <= 2'd2);
            if (overflow) assert (pending && pending_met_full);
        end
        if (started) begin
            cover (overflow);
            cover (n_out == 4'd6 && m_tvalid && m_tlast);
        end
    end

endmodule
