// SPDX-License-Identifier: Apache-2.0
//
// axis_skid_formal: checks the guarantees of axis_skid for every sequence of words and stalls up to a bound.
//
// In:  everything free.
// Asserted: the words that were taken come out once, in order, unchanged (one of arbitrary number is watched); the output
//      is stable while it is stalled; s_tready does not wait for s_tvalid: with the output free it holds.

module axis_skid_formal (
    input logic       clk,
    input logic       rst,
    input logic [2:0] s_tdata,
    input logic       s_tvalid,
    input logic       m_tready
);

    logic       s_tready, m_tvalid;
    logic [2:0] m_tdata;
    axis_skid #(.WIDTH(3)) skid (
        .clk(clk), .rst(rst), .s_tdata(s_tdata), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .m_tdata(m_tdata), .m_tvalid(m_tvalid), .m_tready(m_tready)
    );

    logic       started = 1'b0;
    always @(posedge clk) started <= 1'b1;
    always @(*) if (!started) assume (rst); else assume (!rst);

    (* anyconst *) logic [4:0] watched;
    logic [4:0] n_in, n_out;
    logic [2:0] word, held_word;
    logic       held;

    always @(posedge clk) begin
        held      <= !rst && m_tvalid && !m_tready;
        held_word <= m_tdata;
        if (rst) begin
            n_in  <= 5'd0;
            n_out <= 5'd0;
        end else begin
            if (s_tvalid && s_tready) n_in <= n_in + 5'd1;
            if (m_tvalid && m_tready) n_out <= n_out + 5'd1;
        end
        if (s_tvalid && s_tready && n_in == watched) word <= s_tdata;
        if (started && !rst) begin
            assert (m_tvalid == (n_in != n_out));
            assert (n_in - n_out <= 5'd2);
            if (m_tvalid && n_out == watched) assert (m_tdata == word);
            if (held) assert (m_tvalid && m_tdata == held_word);
            if (!m_tvalid) assert (s_tready);
        end
        if (started) cover (n_out == 5'd4 && n_in == 5'd6);
    end

endmodule
