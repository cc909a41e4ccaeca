// SPDX-License-Identifier: Apache-2.0
//
// completion_ring_proof: no completion is offered before every record placed before it is acknowledged, none in a slot
// that the host has not read, and they come in the order in which the buffers were handed on.
//
// In:  records placed and acknowledged, buffers handed on, host reads and stalls, all free. Out: assertions for a
// bounded proof. Latency: none. The numbers of records go through e_list and e_buffer, too: so the entry that comes
// out says itself what it has to wait for.

module completion_ring_proof (
    input logic clk,
    input logic place,
    input logic answer,
    input logic e_valid,
    input logic host_reads,
    input logic r_ready
);

    logic started_q = 1'b0;
    wire  rst = !started_q;
    always @(posedge clk) started_q <= 1'b1;

    logic [15:0] placed_q, answered_q;
    logic [31:0] tail_q, offered_q;
    logic [5:0]  last_q;
    wire         e_ready, r_valid, waits, drained;
    wire [31:0]  ring_head;
    wire [47:0]  r_address;
    wire [255:0] r_data;
    wire         record_done = answer && answered_q != placed_q;
    always @(*) assume (placed_q < 16'd4);
    completion_ring #(.DEPTH_LOG2(1)) ring (
        .clk(clk), .rst(rst), .now(32'd0), .e_valid(e_valid), .e_ready(e_ready), .e_list(5'd0),
        .e_buffer(placed_q[5:0]), .e_reason(3'd1), .e_n_records(16'd1), .e_n_bad(16'd0), .e_used_bytes(24'd0),
        .e_stamps(96'd0), .e_after(placed_q), .record_done(record_done), .completion_done(1'b0), .failed(1'b0),
        .ring_base(48'd0), .ring_size_log2(5'd0), .ring_tail(tail_q), .ring_head(ring_head), .r_address(r_address),
        .r_data(r_data), .r_valid(r_valid), .r_ready(r_ready), .waits(waits), .drained(drained)
    );

    wire [5:0] says_after = r_data[13:8];
    always @(posedge clk) begin
        if (place) placed_q <= placed_q + 16'd1;
        if (record_done) answered_q <= answered_q + 16'd1;
        if (host_reads && tail_q != offered_q) tail_q <= tail_q + 32'd1;
        if (r_valid && r_ready) begin
            offered_q <= offered_q + 32'd1;
            last_q    <= says_after;
        end
        if (rst) begin
            placed_q   <= 16'd0;
            answered_q <= 16'd0;
            tail_q     <= 32'd0;
            offered_q  <= 32'd0;
            last_q     <= 6'd0;
        end
        if (!rst && r_valid) begin
            assert (answered_q >= {10'd0, says_after});
            assert (says_after >= last_q);
            assert (offered_q == tail_q);
        end
        if (!rst) cover (r_valid && says_after == 6'd2 && offered_q == 32'd1);
    end
endmodule
