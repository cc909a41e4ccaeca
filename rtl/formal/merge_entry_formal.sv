// SPDX-License-Identifier: Apache-2.0
//
// merge_entry_formal: checks the guarantees of merge_entry for every sequence of words and stalls up to a bound.
//
// In:  everything free.
// Asserted: the words that were taken come out once, in order, unchanged (one of arbitrary number is watched), a payload's
//      first one with its side; the output is stable while it is stalled; the input is stopped only by two words inside or
//      a first word in front of another.

module merge_entry_formal (
    input logic       clk,
    input logic       rst,
    input logic [1:0] s_tdata,
    input logic [1:0] s_side,
    input logic       s_tvalid,
    input logic       s_tlast,
    input logic       m_tready
);

    logic       s_tready, m_tvalid, m_tlast;
    logic [1:0] m_tdata, m_side;
    merge_entry #(.WIDTH(2), .SIDE(2)) entry (
        .clk(clk), .rst(rst), .s_tdata(s_tdata), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
        .s_side(s_side), .m_tdata(m_tdata), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast), .m_side(m_side)
    );

    logic       started = 1'b0;
    always @(posedge clk) started <= 1'b1;
    always @(*) if (!started) assume (rst); else assume (!rst);

    // word: {first, last, data, side} of the watched one.
    (* anyconst *) logic [4:0] watched;
    logic [4:0] n_in, n_out;
    logic [5:0] word;
    logic [2:0] held_word;
    logic [1:0] held_side;
    logic       held, enters_first, leaves_first;

    always @(posedge clk) begin
        held      <= !rst && m_tvalid && !m_tready;
        held_word <= {m_tlast, m_tdata};
        held_side <= m_side;
        if (rst) begin
            n_in         <= 5'd0;
            n_out        <= 5'd0;
            enters_first <= 1'b1;
            leaves_first <= 1'b1;
        end else begin
            if (s_tvalid && s_tready) n_in <= n_in + 5'd1;
            if (m_tvalid && m_tready) n_out <= n_out + 5'd1;
            if (s_tvalid && s_tready) enters_first <= s_tlast;
            if (m_tvalid && m_tready) leaves_first <= m_tlast;
        end
        if (s_tvalid && s_tready && n_in == watched) word <= {enters_first, s_tlast, s_tdata, s_side};
        if (started && !rst) begin
            assert (m_tvalid == (n_in != n_out));
            assert (n_in - n_out <= 5'd2);
            if (m_tvalid && n_out == watched) begin
                assert ({m_tlast, m_tdata} == word[4:2]);
                assert (leaves_first == word[5]);
                if (leaves_first) assert (m_side == word[1:0]);
            end
            if (held) assert (m_tvalid && {m_tlast, m_tdata} == held_word);
            if (held && leaves_first) assert (m_side == held_side);
            if (!m_tvalid || (n_in - n_out == 5'd1 && !enters_first)) assert (s_tready);
        end
        if (started) cover (n_out == 5'd4 && n_in == 5'd6);
    end

endmodule
