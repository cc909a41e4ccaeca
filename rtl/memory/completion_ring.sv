// SPDX-License-Identifier: Apache-2.0
//
// completion_ring: writes a 32-byte completion for each buffer into the host's event ring, never before its data.
//
// In:  e_*: a buffer and `after`, the number of records placed until then; record_done and completion_done from the
//      writer, in order; ring_base (multiple of 64), ring_size_log2 and ring_tail (read by the host) from registers.
// Out: r_*: completions to be written; ring_head: those acknowledged; waits: one a cycle that the ring has no room.
// Latency: 5 cycles from the last record's acknowledgement to r_valid. Stamp last_write: when the buffer was handed on
// and all of it acknowledged, whichever came later.
// Parameter: DEPTH_LOG2, 2**DEPTH_LOG2 entries wait.
// The comparison with `after` is of 16-bit counts modulo 2^16: fewer than 2^15 records are ever on their way. Entries,
// their counts and their stamps wait in three queues, so that a full ring does not falsify later stamps.

module completion_ring #(
    parameter DEPTH_LOG2 = 3
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [31:0]  now,

    input  logic         e_valid,
    output logic         e_ready,
    input  logic [4:0]   e_list,
    input  logic [5:0]   e_buffer,
    input  logic [2:0]   e_reason,
    input  logic [15:0]  e_n_records,
    input  logic [15:0]  e_n_bad,
    input  logic [23:0]  e_used_bytes,
    input  logic [95:0]  e_stamps,
    input  logic [15:0]  e_after,

    input  logic         record_done,
    input  logic         completion_done,
    input  logic         failed,

    input  logic [47:0]  ring_base,
    input  logic [4:0]   ring_size_log2,
    input  logic [31:0]  ring_tail,
    output logic [31:0]  ring_head,

    output logic [47:0]  r_address,
    output logic [255:0] r_data,
    output logic         r_valid,
    input  logic         r_ready,

    output logic         waits,
    output logic         drained
);

    localparam [1:0] SETTLE = 2'd0, WAIT = 2'd1, BUILD = 2'd2, OFFER = 2'd3;
    localparam ENTRY = 5 + 6 + 3 + 16 + 16 + 24 + 96;

    wire             take;
    wire             entry_valid, entry_room, after_valid, after_room, stamp_valid, stamp_room;
    wire [15:0]      after;
    wire [31:0]      last_write, used_bytes, first_beat, parsed, merged;
    wire [4:0]       list;
    wire [5:0]       buffer;
    wire [2:0]       reason;
    wire [15:0]      n_records, n_bad;
    assign used_bytes[31:24] = 8'd0;

    assign e_ready = entry_room && after_room;
    write_queue #(.WIDTH(ENTRY), .DEPTH_LOG2(DEPTH_LOG2)) entries (
        .clk(clk), .rst(rst), .s_valid(e_valid && e_ready), .s_ready(entry_room),
        .s_data({e_list, e_buffer, e_reason, e_n_records, e_n_bad, e_used_bytes, e_stamps}),
        .m_data({list, buffer, reason, n_records, n_bad, used_bytes[23:0], merged, parsed, first_beat}),
        .m_valid(entry_valid), .m_ready(take)
    );

    // A count leaves its queue when that many records are acknowledged, and leaves the cycle as stamp.
    logic [15:0] done_q;
    logic        acknowledged_q;
    wire [15:0]  ahead = done_q - after;
    wire         pass = acknowledged_q && after_valid && stamp_room;
    write_queue #(.WIDTH(16), .DEPTH_LOG2(DEPTH_LOG2)) afters (
        .clk(clk), .rst(rst), .s_data(e_after), .s_valid(e_valid && e_ready), .s_ready(after_room),
        .m_data(after), .m_valid(after_valid), .m_ready(pass)
    );
    write_queue #(.WIDTH(32), .DEPTH_LOG2(DEPTH_LOG2 + 1)) stamps (
        .clk(clk), .rst(rst), .s_data(now), .s_valid(pass), .s_ready(stamp_room),
        .m_data(last_write), .m_valid(stamp_valid), .m_ready(take)
    );
    always @(posedge clk) begin
        if (record_done) done_q <= done_q + 16'd1;
        acknowledged_q <= after_valid && !ahead[15] && !pass;
        if (rst) begin
            done_q         <= 16'd0;
            acknowledged_q <= 1'b0;
        end
    end

    logic [1:0]  state_q;
    logic [31:0] number_q, size_q, used_q, slot_q;
    logic        failed_q;
    wire         room = used_q < size_q;
    wire         phase = (number_q & size_q) == 32'd0;
    assign take = state_q == BUILD;
    assign r_valid = state_q == OFFER;

    always @(posedge clk) begin
        waits  <= state_q == WAIT && entry_valid && stamp_valid && !room;
        size_q <= 32'd1 << ring_size_log2;
        used_q <= number_q - ring_tail;
        slot_q <= number_q & (size_q - 32'd1);
        case (state_q)
            SETTLE: state_q <= WAIT;
            WAIT: if (entry_valid && stamp_valid && room) state_q <= BUILD;
            BUILD: begin
                r_address <= ring_base + {11'd0, slot_q, 5'd0};
                r_data    <= {last_write, merged, parsed, first_beat, number_q, used_bytes, n_bad, n_records,
                              7'd0, phase, failed_q, 4'd0, reason, 2'd0, buffer, 3'd0, list};
                state_q   <= OFFER;
            end
            default: if (r_ready) begin
                number_q <= number_q + 32'd1;
                state_q  <= SETTLE;
            end
        endcase
        if (completion_done) ring_head <= ring_head + 32'd1;
        if (failed) failed_q <= 1'b1;
        drained <= !entry_valid && !after_valid && !e_valid && ring_head == number_q;
        if (rst) begin
            state_q   <= SETTLE;
            number_q  <= 32'd0;
            ring_head <= 32'd0;
            failed_q  <= 1'b0;
        end
    end
endmodule
