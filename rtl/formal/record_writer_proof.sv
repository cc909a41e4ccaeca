// SPDX-License-Identifier: Apache-2.0
//
// record_writer_proof: all pieces written of a record lie in the place that it was given, for any length of
// its stream.
//
// In:  streams of any length, completions and stalls, all free. Out: assertions for a bounded proof. Latency: none.

module record_writer_proof (
    input logic        clk,
    input logic        c_valid,
    input logic        c_discard,
    input logic [47:0] c_address,
    input logic [15:0] c_length,
    input logic [7:0]  s_tkeep,
    input logic        s_tvalid,
    input logic        s_tlast,
    input logic        r_valid,
    input logic [47:0] r_address,
    input logic        d_ready,
    input logic        m_ready
);

    logic started_q = 1'b0;
    wire  rst = !started_q;
    always @(posedge clk) started_q <= 1'b1;

    wire        c_ready, s_tready, r_ready, q_valid, q_ready, d_valid, finish, finish_bad, finish_end, m_valid;
    wire [47:0] q_address, m_address;
    wire [15:0] q_bytes;
    wire [1:0]  q_kind, m_kind;
    wire [63:0] d_data;
    wire [11:0] m_bytes;
    record_writer writer (
        .clk(clk), .rst(rst), .now(32'd0), .c_valid(c_valid), .c_ready(c_ready), .c_discard(c_discard),
        .c_address(c_address), .c_length(c_length), .c_stream(5'd0), .c_src_ip(32'd0), .c_src_port(16'd0),
        .c_stamp(32'd0), .s_tdata(64'd0), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .s_tlast(s_tlast), .s_tuser(1'b0), .s_end_of_burst(1'b0), .r_data(256'd0), .r_address(r_address),
        .r_valid(r_valid), .r_ready(r_ready), .q_address(q_address), .q_bytes(q_bytes), .q_kind(q_kind),
        .q_valid(q_valid), .q_ready(q_ready), .d_data(d_data), .d_valid(d_valid), .d_ready(d_ready), .finish(finish),
        .finish_bad(finish_bad), .finish_end_of_burst(finish_end)
    );
    write_split #(.PIECE_LOG2(11)) split (
        .clk(clk), .rst(rst), .s_address(q_address), .s_bytes(q_bytes), .s_kind(q_kind), .s_valid(q_valid),
        .s_ready(q_ready), .m_address(m_address), .m_bytes(m_bytes), .m_kind(m_kind), .m_valid(m_valid),
        .m_ready(m_ready)
    );

    // Only one record or completion is written at a time, so that a piece belongs to the place that was given last.
    logic [47:0] place_q;
    logic [16:0] room_q;
    wire  begins = (c_valid && c_ready) || (r_valid && r_ready);
    wire  quiet  = !q_valid && q_ready && !m_valid;
    always @(*) begin
        assume (!(c_valid && r_valid));
        assume (c_address[5:0] == 6'd0 && c_address < 48'h100000000 && c_length < 16'd8192);
        assume (r_address[4:0] == 5'd0 && r_address < 48'h100000000);
        if (!quiet) assume (!c_valid && !r_valid);
    end
    wire [16:0] padded = {1'b0, c_length} + 17'd95;
    always @(posedge clk) begin
        if (r_valid && r_ready) {place_q, room_q} <= {r_address, 17'd32};
        else if (begins) {place_q, room_q} <= {c_address, padded[16:6], 6'd0};
        if (!rst && m_valid) begin
            assert (m_address >= place_q && m_bytes != 12'd0);
            assert (m_address + {36'd0, m_bytes} <= place_q + {31'd0, room_q});
        end
        if (!rst) cover (m_valid && m_kind == 2'd1 && room_q == 17'd128);
    end
endmodule
