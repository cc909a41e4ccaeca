// SPDX-License-Identifier: Apache-2.0
//
// write_split_proof: pieces follow one another without gap, none crosses a multiple of 4 kB, and they are as many bytes
// as the request, whose kind is on the last.
//
// In:  any requests, any stalls (free inputs). Out: assertions for a bounded proof. Latency: none.

module write_split_proof (
    input logic        clk,
    input logic [47:0] s_address,
    input logic [15:0] s_bytes,
    input logic [1:0]  s_kind,
    input logic        s_valid,
    input logic        m_ready
);

    logic started_q = 1'b0;
    wire  rst = !started_q;
    always @(posedge clk) started_q <= 1'b1;

    wire        s_ready, m_valid;
    wire [47:0] m_address;
    wire [12:0] m_bytes;
    wire [1:0]  m_kind;
    write_split #(.PIECE_LOG2(12)) split (.*);

    logic [47:0] next_q;
    logic [15:0] left_q;
    logic [1:0]  kind_q;
    logic        busy_q, held_q;
    logic [62:0] word_q;
    wire [12:0]  end_in_page = {1'b0, m_address[11:0]} + m_bytes;
    always @(posedge clk) begin
        held_q <= m_valid && !m_ready && !rst;
        word_q <= {m_address, m_bytes, m_kind};
        if (s_valid && s_ready && !(busy_q && !(m_valid && m_ready && left_q == {3'd0, m_bytes}))) begin
            next_q <= s_address;
            left_q <= s_bytes;
            kind_q <= s_kind;
            busy_q <= 1'b1;
        end else if (m_valid && m_ready) begin
            next_q <= next_q + {35'd0, m_bytes};
            left_q <= left_q - {3'd0, m_bytes};
            if (left_q == {3'd0, m_bytes}) busy_q <= 1'b0;
        end
        if (rst) busy_q <= 1'b0;

        if (!rst) begin
            // One request at a time keeps the reference simple: the next comes when the last piece has gone.
            assume (!s_valid || s_bytes != 16'd0);
            assume (!s_valid || !busy_q);
            if (m_valid) begin
                assert (busy_q && m_address == next_q && m_bytes != 13'd0);
                assert ({3'd0, m_bytes} <= left_q);
                assert (end_in_page <= 13'd4096);
                assert (m_kind == ({3'd0, m_bytes} == left_q ? kind_q : 2'd0));
                if (held_q) assert (word_q == {m_address, m_bytes, m_kind});
            end else assert (!held_q);
            cover (m_valid && m_ready && left_q == {3'd0, m_bytes} && m_address[11:0] == 12'd0 && m_bytes == 13'd32);
        end
    end
endmodule
