// SPDX-License-Identifier: Apache-2.0
//
// router_formal: checks the guarantees of the router for every sequence of packets and stalls up to a bound.
//
// In:  everything free, but that the links keep to AXI-Stream (stable while stalled). Each word carries its link's number.
// Asserted: the output is stable while stalled; between a packet's first word and its last only words of its link come,
//      and m_link names it; a link's words come out once, in order (one of arbitrary number, of an arbitrary link, is
//      watched); no other link gets more than four packets through while a watched link has a word waiting.

module router_formal (
    input logic        clk,
    input logic        rst,
    input logic [23:0] s_tdata,
    input logic [2:0]  s_tuser,
    input logic [2:0]  s_tlast,
    input logic [2:0]  s_tvalid,
    input logic        m_tready
);

    logic [2:0] s_tready, m_link;
    logic [7:0] m_tdata;
    logic       m_tkeep, m_tuser, m_tlast, m_tvalid;
    router #(.LINKS(3), .DATA_BITS(8)) dut (
        .clk(clk), .rst(rst), .s_tdata(s_tdata), .s_tkeep(3'b111), .s_tuser(s_tuser), .s_tlast(s_tlast),
        .s_tvalid(s_tvalid), .s_tready(s_tready), .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tuser(m_tuser),
        .m_tlast(m_tlast), .m_link(m_link), .m_tvalid(m_tvalid), .m_tready(m_tready)
    );

    logic started = 1'b0;
    always @(posedge clk) started <= 1'b1;
    always @(*) if (!started) assume (rst); else assume (!rst);

    // Links that obey the rules; the two top bits of a word name its link.
    logic [2:0]  offered, was_last, was_user;
    logic [23:0] was_data;
    integer i;
    always @(posedge clk) begin
        offered  <= rst ? 3'd0 : s_tvalid & ~s_tready;
        was_last <= s_tlast;
        was_user <= s_tuser;
        was_data <= s_tdata;
    end
    always @(*)
        for (i = 0; i < 3; i = i + 1) begin
            assume (s_tdata[8*i+6+:2] == i);
            if (started && offered[i])
                assume (s_tvalid[i] && s_tlast[i] == was_last[i] && s_tuser[i] == was_user[i] &&
                        s_tdata[8*i+:8] == was_data[8*i+:8]);
        end

    (* anyconst *) logic [1:0] link;
    (* anyconst *) logic [3:0] watched;
    always @(*) assume (link < 2'd3);

    logic [3:0] n_in, n_out;
    logic [9:0] word, held_word;
    logic       held, in_packet;
    logic [2:0] owner;
    wire  [9:0] out_word = {m_tlast, m_tuser, m_tdata};
    wire        enters   = s_tvalid[link] && s_tready[link];
    wire        leaves   = m_tvalid && m_tready;

    // Packets of each other link that begin while the watched link has a word inside: those in the output's two places and
    // the one at the turn when the word came, and then one.
    logic [2:0] passed [0:2];
    wire        begins = leaves && !in_packet;
    integer k;
    always @(posedge clk)
        for (k = 0; k < 3; k = k + 1)
            if (rst || n_in == n_out || (begins && m_link == link)) passed[k] <= 3'd0;
            else if (begins && m_link == k) passed[k] <= passed[k] + 3'd1;

    always @(posedge clk) begin
        held      <= !rst && m_tvalid && !m_tready;
        held_word <= out_word;
        if (rst) begin
            n_in      <= 4'd0;
            n_out     <= 4'd0;
            in_packet <= 1'b0;
        end else begin
            if (enters) n_in <= n_in + 4'd1;
            if (leaves) begin
                in_packet <= !m_tlast;
                owner     <= m_link;
                if (m_link == link) n_out <= n_out + 4'd1;
            end
        end
        if (enters && n_in == watched) word <= {s_tlast[link], s_tuser[link], s_tdata[8*link+:8]};
        if (started && !rst) begin
            if (held) assert (m_tvalid && out_word == held_word);
            if (m_tvalid) assert (m_tdata[7:6] == m_link[1:0]);
            if (m_tvalid && in_packet) assert (m_link == owner);
            if (m_tvalid && m_link == link && n_out == watched) assert (out_word == word);
            if (m_tvalid && m_link == link) assert (n_out != n_in);
            for (k = 0; k < 3; k = k + 1) assert (passed[k] <= 3'd4);
        end
        if (started) cover (n_out == 4'd4 && m_link != link && in_packet);
    end

endmodule
