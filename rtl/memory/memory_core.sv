// SPDX-License-Identifier: Apache-2.0
//
// memory_core: turns one stream of payloads into write requests with physical addresses, and their data, for circular
// lists of persistent buffers (CLOPs) and an event ring. Shells write them (memory_path.sv for AXI4, corundum_dma.sv).
//
// In:  s_*: payload stream; s_stream 0 to 15 UDP streams, 16 merged events; s_length bytes; s_end_of_burst with tlast;
//      list_*, tlb_*, ring_*, flush: from the register file (registers.yaml); record_done, completion_done, failed.
// Out: q_*: requests of at most 2**PIECE_LOG2 bytes, not across such a multiple; d_*: their words in order;
//      irq_completion: the ring holds unread ones; irq_missing: a page is not in the TLB; pulses for counters.
// Latency: first beat to first word at d_* 9 cycles. Throughput: a word a cycle; 18-byte payloads 9 cycles each.
// A record at `offset` (multiple of 64): 32 bytes of header, then the payload; then free until the next multiple.

module memory_core #(
    parameter PIECE_LOG2 = 12
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [31:0]  now,

    input  logic [63:0]  s_tdata,
    input  logic [7:0]   s_tkeep,
    input  logic         s_tvalid,
    output logic         s_tready,
    input  logic         s_tlast,
    input  logic         s_tuser,
    input  logic         s_end_of_burst,
    input  logic [4:0]   s_stream,
    input  logic [31:0]  s_src_ip,
    input  logic [15:0]  s_src_port,
    input  logic [15:0]  s_length,
    input  logic [31:0]  s_stamp,
    input  logic [31:0]  s_parsed,
    input  logic [31:0]  s_merged,

    input  logic         list_write,
    input  logic [4:0]   list_index,
    input  logic [2:0]   list_register,
    input  logic [31:0]  list_data,
    input  logic         tlb_write,
    input  logic [3:0]   tlb_index,
    input  logic [1:0]   tlb_register,
    input  logic [31:0]  tlb_data,
    input  logic [47:0]  ring_base,
    input  logic [4:0]   ring_size_log2,
    input  logic [31:0]  ring_tail,
    output logic [31:0]  ring_head,
    input  logic         flush,

    output logic [63:0]  q_address,
    output logic [PIECE_LOG2:0] q_bytes,
    output logic [1:0]   q_kind,
    output logic         q_valid,
    input  logic         q_ready,
    output logic [63:0]  d_data,
    output logic         d_valid,
    input  logic         d_ready,
    input  logic         record_done,
    input  logic         completion_done,
    input  logic         failed,

    output logic         irq_completion,
    output logic         irq_missing,
    output logic [31:0]  missing_page,
    output logic         idle,
    output logic         count_written,
    output logic         count_dropped,
    output logic         count_too_long,
    output logic         count_overwritten,
    output logic         count_completion,
    output logic         count_ring_full,
    output logic         count_tlb_miss,
    output logic         count_tlb_stall
);

    // The first beat of a record waits at the input until the record has its place.
    logic at_start_q;
    always @(posedge clk) begin
        if (s_tvalid && s_tready) at_start_q <= s_tlast;
        if (rst) at_start_q <= 1'b1;
    end

    wire         c_valid, c_ready, c_discard;
    wire [47:0]  c_address;
    wire         finish, finish_bad, finish_end_of_burst;
    wire         e_valid, e_ready, control_idle, drained;
    wire [4:0]   e_list;
    wire [5:0]   e_buffer;
    wire [2:0]   e_reason;
    wire [15:0]  e_n_records, e_n_bad, e_after;
    wire [23:0]  e_used_bytes;
    wire [95:0]  e_stamps;
    list_control control (
        .clk(clk), .rst(rst), .now(now), .list_write(list_write), .list_index(list_index),
        .list_register(list_register), .list_data(list_data), .flush(flush),
        .p_valid(s_tvalid && at_start_q), .p_stream(s_stream), .p_length(s_length), .p_stamp(s_stamp),
        .p_parsed(s_parsed), .p_merged(s_merged),
        .c_valid(c_valid), .c_ready(c_ready), .c_discard(c_discard), .c_address(c_address),
        .finish(finish), .finish_bad(finish_bad), .finish_end_of_burst(finish_end_of_burst),
        .e_valid(e_valid), .e_ready(e_ready), .e_list(e_list), .e_buffer(e_buffer), .e_reason(e_reason),
        .e_n_records(e_n_records), .e_n_bad(e_n_bad), .e_used_bytes(e_used_bytes), .e_stamps(e_stamps),
        .e_after(e_after), .idle(control_idle), .record_dropped(count_dropped), .record_too_long(count_too_long),
        .buffer_overwritten(count_overwritten)
    );

    wire [255:0] r_data;
    wire [47:0]  r_address;
    wire         r_valid, r_ready;
    completion_ring ring (
        .clk(clk), .rst(rst), .now(now), .e_valid(e_valid), .e_ready(e_ready), .e_list(e_list), .e_buffer(e_buffer),
        .e_reason(e_reason), .e_n_records(e_n_records), .e_n_bad(e_n_bad), .e_used_bytes(e_used_bytes),
        .e_stamps(e_stamps), .e_after(e_after), .record_done(record_done), .completion_done(completion_done),
        .failed(failed), .ring_base(ring_base), .ring_size_log2(ring_size_log2), .ring_tail(ring_tail),
        .ring_head(ring_head), .r_address(r_address), .r_data(r_data), .r_valid(r_valid), .r_ready(r_ready),
        .waits(count_ring_full), .drained(drained)
    );

    wire [47:0] w_address, queued_address, piece_address;
    wire [15:0] w_bytes, queued_bytes;
    wire [1:0]  w_kind, queued_kind, piece_kind;
    wire        w_valid, w_ready, queued_valid, queued_ready, piece_valid, piece_ready;
    wire [63:0] word;
    wire        word_valid, word_ready;
    wire [PIECE_LOG2:0] piece_bytes;
    record_writer writer (
        .clk(clk), .rst(rst), .now(now), .c_valid(c_valid), .c_ready(c_ready), .c_discard(c_discard),
        .c_address(c_address), .c_length(s_length), .c_stream(s_stream), .c_src_ip(s_src_ip),
        .c_src_port(s_src_port), .c_stamp(s_stamp),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
        .s_tuser(s_tuser), .s_end_of_burst(s_end_of_burst),
        .r_data(r_data), .r_address(r_address), .r_valid(r_valid), .r_ready(r_ready),
        .q_address(w_address), .q_bytes(w_bytes), .q_kind(w_kind), .q_valid(w_valid), .q_ready(w_ready),
        .d_data(word), .d_valid(word_valid), .d_ready(word_ready),
        .finish(finish), .finish_bad(finish_bad), .finish_end_of_burst(finish_end_of_burst)
    );

    // Words wait here while their requests are cut and translated.
    write_queue #(.WIDTH(64), .DEPTH_LOG2(5)) words (
        .clk(clk), .rst(rst), .s_data(word), .s_valid(word_valid), .s_ready(word_ready),
        .m_data(d_data), .m_valid(d_valid), .m_ready(d_ready)
    );
    write_queue #(.WIDTH(66), .DEPTH_LOG2(3)) requests (
        .clk(clk), .rst(rst), .s_data({w_address, w_bytes, w_kind}), .s_valid(w_valid), .s_ready(w_ready),
        .m_data({queued_address, queued_bytes, queued_kind}), .m_valid(queued_valid), .m_ready(queued_ready)
    );
    write_split #(.PIECE_LOG2(PIECE_LOG2)) split (
        .clk(clk), .rst(rst), .s_address(queued_address), .s_bytes(queued_bytes), .s_kind(queued_kind),
        .s_valid(queued_valid), .s_ready(queued_ready), .m_address(piece_address), .m_bytes(piece_bytes),
        .m_kind(piece_kind), .m_valid(piece_valid), .m_ready(piece_ready)
    );
    tlb #(.BYTES_WIDTH(PIECE_LOG2 + 1)) pages (
        .clk(clk), .rst(rst), .tlb_write(tlb_write), .tlb_index(tlb_index), .tlb_register(tlb_register),
        .tlb_data(tlb_data), .s_address(piece_address), .s_bytes(piece_bytes), .s_kind(piece_kind),
        .s_valid(piece_valid), .s_ready(piece_ready), .m_address(q_address), .m_bytes(q_bytes), .m_kind(q_kind),
        .m_valid(q_valid), .m_ready(q_ready), .missing(irq_missing), .missing_page(missing_page),
        .miss(count_tlb_miss), .stall(count_tlb_stall)
    );

    assign count_written    = record_done;
    assign count_completion = completion_done;
    always @(posedge clk) begin
        irq_completion <= ring_head != ring_tail && !rst;
        idle           <= control_idle && drained && !w_valid && !queued_valid && !piece_valid && !q_valid && !d_valid;
    end
endmodule
