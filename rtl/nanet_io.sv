// SPDX-License-Identifier: Apache-2.0
//
// nanet_io: the card. It takes frames of a 10G MAC and writes records, of datagrams or merged events, into host memory.
//
// In:  rx_*: frames, without back-pressure, rx_tuser with the last beat: a wrong FCS; s_axil_*: the host's access to
//      the registers (docs/reference/nanet-io.md).
// Out: tx_*: answers to ARP and ICMP echo; m_axi_*: records, their headers and completions, written as one master with
//      one ID; irq: a level, 1 while a cause in control.interrupt_status is enabled in control.interrupt_enable.
// Latency: cut-through 24 cycles from a frame's first beat to AW, 26 to its first W beat, of them 9 until the payload
//      leaves the receive path; of merged events: docs/reference/card-merger.md.
// Parameters: WORDS_LOG2, FRAMES_LOG2 of the payload buffer, the only place where data wait for host memory;
//      OPEN_LOG2, bursts that may wait for their acknowledgement; FIRST_CYCLE, the cycle counter's value after a reset;
//      BOARDS that the merger takes, 1 to 8.
// A frame has one verdict (count.frames_*). Each payload that leaves the receive path has one of the merger
// (count.datagrams_*), or is one record; each record has one end: records_written, records_dropped or records_too_long.
// These payloads are the accepted frames, and in cut-through those whose last check came too late.

module nanet_io #(
    parameter        WORDS_LOG2  = 11,
    parameter        FRAMES_LOG2 = 9,
    parameter        OPEN_LOG2   = 5,
    parameter [31:0] FIRST_CYCLE = 32'd0,
    parameter        BOARDS      = 4
) (
    input  logic        clk,
    input  logic        rst,

    input  logic [63:0] rx_tdata,
    input  logic [7:0]  rx_tkeep,
    input  logic        rx_tvalid,
    input  logic        rx_tlast,
    input  logic        rx_tuser,

    output logic [63:0] tx_tdata,
    output logic [7:0]  tx_tkeep,
    output logic        tx_tvalid,
    input  logic        tx_tready,
    output logic        tx_tlast,

    input  logic [12:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [3:0]  s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [1:0]  s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [12:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [1:0]  s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    output logic [63:0] m_axi_awaddr,
    output logic [7:0]  m_axi_awlen,
    output logic [2:0]  m_axi_awsize,
    output logic [1:0]  m_axi_awburst,
    output logic        m_axi_awvalid,
    input  logic        m_axi_awready,
    output logic [63:0] m_axi_wdata,
    output logic [7:0]  m_axi_wstrb,
    output logic        m_axi_wlast,
    output logic        m_axi_wvalid,
    input  logic        m_axi_wready,
    input  logic [1:0]  m_axi_bresp,
    input  logic        m_axi_bvalid,
    output logic        m_axi_bready,

    output logic        irq
);

    logic [31:0] now;
    always_ff @(posedge clk) now <= rst ? FIRST_CYCLE : now + 32'd1;

    // --- Registers
    wire [31:0]  scratch, mac_low, own_ip, ring_base_low, ring_base_high, ring_head, ring_tail, missing_page;
    wire [31:0]  list_data, tlb_data;
    wire [15:0]  mac_high;
    wire [271:0] stream_port;
    wire [4:0]   ring_size_log2, list_index;
    wire [3:0]   tlb_index;
    wire [2:0]   list_register;
    wire [1:0]   tlb_register, interrupt_enable, interrupt_status;
    wire [7:0]   boards, window, far_fine_high;
    wire [31:0]  timeout, far_fine_low, board_streams;
    wire [127:0] board_ids;
    wire [9:0]   n_channels;
    wire         keep_incomplete, drop_when_full, memory_idle, merge_idle;
    wire [7:0]   silent, ended;
    wire [31:0]  n_fragments, n_hits;
    wire         enable, promiscuous, cut_through, merge, flush, idle, list_write, tlb_write;
    wire [nanet_io_pkg::N_COUNTS-1:0] count_pulse;

    nanet_io_registers registers (
        .clk(clk), .rst(rst),
        .s_awaddr(s_axil_awaddr), .s_awvalid(s_axil_awvalid), .s_awready(s_axil_awready),
        .s_wdata(s_axil_wdata), .s_wstrb(s_axil_wstrb), .s_wvalid(s_axil_wvalid), .s_wready(s_axil_wready),
        .s_bresp(s_axil_bresp), .s_bvalid(s_axil_bvalid), .s_bready(s_axil_bready),
        .s_araddr(s_axil_araddr), .s_arvalid(s_axil_arvalid), .s_arready(s_axil_arready),
        .s_rdata(s_axil_rdata), .s_rresp(s_axil_rresp), .s_rvalid(s_axil_rvalid), .s_rready(s_axil_rready),
        .identity_n_boards(4'(BOARDS)), .identity_scratch(scratch), .control_enable(enable),
        .control_promiscuous(promiscuous), .control_cut_through(cut_through), .control_merge(merge),
        .control_flush(flush), .control_interrupt_enable(interrupt_enable), .control_interrupt_status(interrupt_status),
        .control_idle(idle), .address_mac_low(mac_low), .address_mac_high(mac_high), .address_ip(own_ip),
        .stream_port(stream_port), .clock_now(now), .ring_base_low(ring_base_low), .ring_base_high(ring_base_high),
        .ring_size_log2(ring_size_log2), .ring_head(ring_head), .ring_tail(ring_tail), .page_missing(missing_page),
        .merger_boards(boards), .merger_window(window), .merger_timeout(timeout), .merger_far_fine_low(far_fine_low),
        .merger_far_fine_high(far_fine_high), .merger_n_channels(n_channels),
        .merger_keep_incomplete(keep_incomplete), .merger_drop_when_full(drop_when_full),
        .merger_silent(silent), .merger_ended(ended), .merger_fragments(n_fragments), .merger_hits(n_hits),
        .board_id(board_ids), .board_stream(board_streams),
        .list_write(list_write), .list_index(list_index), .list_register(list_register), .list_data(list_data),
        .tlb_write(tlb_write), .tlb_index(tlb_index), .tlb_register(tlb_register), .tlb_data(tlb_data),
        .count_pulse(count_pulse)
    );
    // Words on their way into the register stage of the memory path or of the merger are not visible after it yet.
    wire  memory_tvalid, merge_tvalid;
    logic comes_q;
    always_ff @(posedge clk) comes_q <= memory_tvalid || merge_tvalid;
    assign idle = memory_idle && merge_idle && !comes_q;
    // Virtual addresses have 48 bits; nothing reads what is for the host's own use.
    wire unused = ^{ring_base_high[31:16], scratch};

    always_ff @(posedge clk) irq <= |(interrupt_status & interrupt_enable) && !rst;

    wire [15:0]  entry_valid;
    wire [255:0] entry_port;
    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : entries
            assign entry_valid[i]         = stream_port[17*i + 16];
            assign entry_port[16*i +: 16] = stream_port[17*i +: 16];
        end
    endgenerate

    // --- From the MAC to payloads
    wire        frame_valid;
    wire [63:0] payload_tdata;
    wire [7:0]  payload_tkeep;
    wire        payload_tvalid, payload_tready, payload_tlast, payload_tuser;
    wire [3:0]  payload_stream;
    wire [31:0] payload_src_ip, payload_stamp;
    wire [15:0] payload_src_port, payload_length;

    frame_gate gate (
        .clk(clk), .rst(rst), .enable(enable), .s_tvalid(rx_tvalid), .s_tlast(rx_tlast), .m_tvalid(frame_valid)
    );

    // Much logic of the receive path uses the MAC's signals in the same cycle, so they come from registers. The cycle
    // counter at the port, from which stamps are taken, is delayed with them.
    logic [63:0] frame_tdata_q;
    logic [7:0]  frame_tkeep_q;
    logic        frame_valid_q, frame_tlast_q, frame_tuser_q;
    logic [31:0] frame_now_q;
    always_ff @(posedge clk) begin
        frame_tdata_q <= rx_tdata;
        frame_tkeep_q <= rx_tkeep;
        frame_tlast_q <= rx_tlast;
        frame_tuser_q <= rx_tuser;
        frame_valid_q <= frame_valid && !rst;
        frame_now_q   <= now;
    end

    receive_path #(.WORDS_LOG2(WORDS_LOG2), .FRAMES_LOG2(FRAMES_LOG2)) receive (
        .clk(clk), .rst(rst),
        .s_tdata(frame_tdata_q), .s_tkeep(frame_tkeep_q), .s_tvalid(frame_valid_q), .s_tlast(frame_tlast_q),
        .s_tuser(frame_tuser_q),
        .now(frame_now_q), .own_mac({mac_high, mac_low}), .own_ip(own_ip), .promiscuous(promiscuous),
        .cut_through(cut_through), .entry_valid(entry_valid), .entry_port(entry_port),
        .m_tdata(payload_tdata), .m_tkeep(payload_tkeep), .m_tvalid(payload_tvalid), .m_tready(payload_tready),
        .m_tlast(payload_tlast), .m_tuser(payload_tuser), .m_stream(payload_stream), .m_src_ip(payload_src_ip),
        .m_src_port(payload_src_port), .m_length(payload_length), .m_stamp(payload_stamp),
        .tx_tdata(tx_tdata), .tx_tkeep(tx_tkeep), .tx_tvalid(tx_tvalid), .tx_tready(tx_tready), .tx_tlast(tx_tlast),
        .count_accepted(count_pulse[nanet_io_pkg::C_FRAMES_ACCEPTED]),
        .count_bad_fcs(count_pulse[nanet_io_pkg::C_FRAMES_BAD_FCS]),
        .count_truncated(count_pulse[nanet_io_pkg::C_FRAMES_TRUNCATED]),
        .count_wrong_mac(count_pulse[nanet_io_pkg::C_FRAMES_WRONG_MAC]),
        .count_arp(count_pulse[nanet_io_pkg::C_FRAMES_ARP]),
        .count_not_ipv4(count_pulse[nanet_io_pkg::C_FRAMES_NOT_IPV4]),
        .count_bad_ip_checksum(count_pulse[nanet_io_pkg::C_FRAMES_BAD_IP_CHECKSUM]),
        .count_fragment(count_pulse[nanet_io_pkg::C_FRAMES_FRAGMENT]),
        .count_icmp(count_pulse[nanet_io_pkg::C_FRAMES_ICMP]),
        .count_not_udp(count_pulse[nanet_io_pkg::C_FRAMES_NOT_UDP]),
        .count_unknown_port(count_pulse[nanet_io_pkg::C_FRAMES_UNKNOWN_PORT]),
        .count_overflow(count_pulse[nanet_io_pkg::C_FRAMES_OVERFLOW]),
        .count_bad_udp_checksum(count_pulse[nanet_io_pkg::C_FRAMES_BAD_UDP_CHECKSUM]),
        .count_arp_answered(count_pulse[nanet_io_pkg::C_ARP_ANSWERED]),
        .count_echo_answered(count_pulse[nanet_io_pkg::C_ECHO_ANSWERED]),
        .count_reply_overflow(count_pulse[nanet_io_pkg::C_REPLIES_OVERFLOW])
    );

    // The cycle in which a payload's first word was first offered, kept while the payload waits for its place.
    logic        at_start_q, waits_q;
    logic [31:0] came_q;
    wire  [31:0] came = waits_q ? came_q : now;
    always_ff @(posedge clk) begin
        if (payload_tvalid && payload_tready) at_start_q <= payload_tlast;
        waits_q <= payload_tvalid && !payload_tready && at_start_q;
        came_q  <= came;
        if (rst) at_start_q <= 1'b1;
        if (rst) waits_q <= 1'b0;
    end

    // --- From payloads to merged events
    wire        merge_tready, record_tvalid, record_tready, record_tlast, record_end_of_burst;
    wire        memory_tready, is_merged;
    wire [63:0] record_tdata;
    wire [15:0] record_length;
    wire [31:0] record_stamp, record_parsed, record_merged;

    merge_switch ways (
        .clk(clk), .rst(rst), .merge(merge), .p_valid(payload_tvalid), .p_ready(payload_tready), .p_last(payload_tlast),
        .merge_valid(merge_tvalid), .merge_ready(merge_tready), .r_valid(record_tvalid), .r_ready(record_tready),
        .r_last(record_tlast), .s_valid(memory_tvalid), .s_ready(memory_tready), .is_merged(is_merged)
    );

    wire [63:0] entry_tdata;
    wire [7:0]  entry_tkeep;
    wire        entry_tvalid, entry_tready, entry_tlast, entry_tuser;
    wire [3:0]  entry_stream;
    wire [15:0] entry_length;
    wire [31:0] entry_stamp;
    merge_entry #(.WIDTH(64 + 8 + 1), .SIDE(4 + 16 + 32)) entry (
        .clk(clk), .rst(rst), .s_tdata({payload_tdata, payload_tkeep, payload_tuser}), .s_tvalid(merge_tvalid),
        .s_tready(merge_tready), .s_tlast(payload_tlast), .s_side({payload_stream, payload_length, payload_stamp}),
        .m_tdata({entry_tdata, entry_tkeep, entry_tuser}), .m_tvalid(entry_tvalid), .m_tready(entry_tready),
        .m_tlast(entry_tlast), .m_side({entry_stream, entry_length, entry_stamp})
    );

    merge_path #(.BOARDS(BOARDS)) merger (
        .clk(clk), .rst(rst), .now(now),
        .s_tdata(entry_tdata), .s_tkeep(entry_tkeep), .s_tvalid(entry_tvalid), .s_tready(entry_tready),
        .s_tlast(entry_tlast), .s_tuser(entry_tuser), .s_stream(entry_stream), .s_length(entry_length),
        .s_stamp(entry_stamp), .boards(boards), .board_ids(board_ids), .board_streams(board_streams),
        .n_channels(n_channels), .drop_when_full(drop_when_full), .window(window),
        .far_fine({far_fine_high, far_fine_low}), .timeout(timeout), .keep_incomplete(keep_incomplete),
        .m_tdata(record_tdata), .m_tvalid(record_tvalid), .m_tready(record_tready), .m_tlast(record_tlast),
        .m_end_of_burst(record_end_of_burst), .m_length(record_length), .m_stamp(record_stamp),
        .m_parsed(record_parsed), .m_merged(record_merged),
        .count_verdicts(count_pulse[nanet_io_pkg::C_DATAGRAMS_OK +: 14]),
        .count_dropped(count_pulse[nanet_io_pkg::C_PACKETS_DROPPED]),
        .count_complete(count_pulse[nanet_io_pkg::C_EVENTS_COMPLETE]),
        .count_incomplete(count_pulse[nanet_io_pkg::C_EVENTS_INCOMPLETE]),
        .count_rejected(count_pulse[nanet_io_pkg::C_EVENTS_REJECTED]),
        .count_bursts_begun(count_pulse[nanet_io_pkg::C_BURSTS_BEGUN]),
        .count_bursts_ended(count_pulse[nanet_io_pkg::C_BURSTS_ENDED]),
        .count_late(count_pulse[nanet_io_pkg::C_LATE_0 +: 8]),
        .count_duplicate(count_pulse[nanet_io_pkg::C_DUPLICATE_0 +: 8]),
        .count_ahead(count_pulse[nanet_io_pkg::C_AHEAD_0 +: 8]),
        .count_missing(count_pulse[nanet_io_pkg::C_MISSING_0 +: 8]),
        .count_silenced(count_pulse[nanet_io_pkg::C_SILENCED_0 +: 8]),
        .silent(silent), .ended(ended), .fragments(n_fragments), .hits(n_hits), .idle(merge_idle)
    );

    // --- From payloads and merged events to host memory, after a register stage: the path from the payload buffer
    // through the choice above into the lists, and that of ready back, are together too long for one cycle.
    localparam MEMORY_WORD = 64 + 8 + 1 + 1 + 1 + 5 + 32 + 16 + 16 + 32 + 32 + 32;
    wire [MEMORY_WORD-1:0] payload_word, record_word, memory_word;
    wire                   held_tvalid, held_tready, held_tlast, held_tuser, held_end_of_burst;
    wire [63:0]            held_tdata;
    wire [7:0]             held_tkeep;
    wire [4:0]             held_stream;
    wire [31:0]            held_src_ip, held_stamp, held_parsed, held_merged;
    wire [15:0]            held_src_port, held_length;
    assign payload_word = {payload_tdata, payload_tkeep, payload_tlast, payload_tuser, 1'b0, 1'b0, payload_stream,
                           payload_src_ip, payload_src_port, payload_length, payload_stamp, came, 32'd0};
    assign record_word  = {record_tdata, 8'hff, record_tlast, 1'b0, record_end_of_burst, 5'd16, 32'd0, 16'd0,
                           record_length, record_stamp, record_parsed, record_merged};
    assign {held_tdata, held_tkeep, held_tlast, held_tuser, held_end_of_burst, held_stream, held_src_ip,
            held_src_port, held_length, held_stamp, held_parsed, held_merged} = memory_word;

    axis_skid #(.WIDTH(MEMORY_WORD)) to_memory (
        .clk(clk), .rst(rst),
        .s_tdata(is_merged ? record_word : payload_word), .s_tvalid(memory_tvalid), .s_tready(memory_tready),
        .m_tdata(memory_word), .m_tvalid(held_tvalid), .m_tready(held_tready)
    );

    memory_path #(.OPEN_LOG2(OPEN_LOG2)) memory (
        .clk(clk), .rst(rst), .now(now),
        .s_tdata(held_tdata), .s_tkeep(held_tkeep), .s_tvalid(held_tvalid), .s_tready(held_tready),
        .s_tlast(held_tlast), .s_tuser(held_tuser), .s_end_of_burst(held_end_of_burst), .s_stream(held_stream),
        .s_src_ip(held_src_ip), .s_src_port(held_src_port), .s_length(held_length), .s_stamp(held_stamp),
        .s_parsed(held_parsed), .s_merged(held_merged),
        .list_write(list_write), .list_index(list_index), .list_register(list_register), .list_data(list_data),
        .tlb_write(tlb_write), .tlb_index(tlb_index), .tlb_register(tlb_register), .tlb_data(tlb_data),
        .ring_base({ring_base_high[15:0], ring_base_low}), .ring_size_log2(ring_size_log2), .ring_tail(ring_tail),
        .ring_head(ring_head), .flush(flush),
        .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast),
        .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready), .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(m_axi_bvalid), .m_axi_bready(m_axi_bready),
        .irq_completion(interrupt_status[0]), .irq_missing(interrupt_status[1]), .missing_page(missing_page),
        .idle(memory_idle),
        .count_written(count_pulse[nanet_io_pkg::C_RECORDS_WRITTEN]),
        .count_dropped(count_pulse[nanet_io_pkg::C_RECORDS_DROPPED]),
        .count_too_long(count_pulse[nanet_io_pkg::C_RECORDS_TOO_LONG]),
        .count_overwritten(count_pulse[nanet_io_pkg::C_BUFFERS_OVERWRITTEN]),
        .count_completion(count_pulse[nanet_io_pkg::C_COMPLETIONS]),
        .count_ring_full(count_pulse[nanet_io_pkg::C_RING_FULL]),
        .count_tlb_miss(count_pulse[nanet_io_pkg::C_TLB_MISSES]),
        .count_tlb_stall(count_pulse[nanet_io_pkg::C_TLB_STALLS]),
        .count_write_failed(count_pulse[nanet_io_pkg::C_WRITES_FAILED])
    );

endmodule
