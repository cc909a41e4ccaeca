// SPDX-License-Identifier: Apache-2.0
//
// Made by rtl/registers/make_registers.py from registers.yaml.
//
// nanet_io_registers: the registers as docs/reference/nanet-io.md has them, on AXI4-Lite.
//
// In:  AXI4-Lite; what is read only; pulses that are counted (nanet_io_pkg::C_*).
// Out: what is written. A write to a table (lists of buffers, TLB) is passed on: *_write is 1 for a cycle.
// Latency: 3 cycles from a write to its output, 5 from a read's address to its data. One of each at a time.
// An address without a register, and a write of less than a word, are answered with SLVERR and change nothing.

module nanet_io_registers (
    input  logic        clk,
    input  logic        rst,

    input  logic [12:0] s_awaddr,
    input  logic        s_awvalid,
    output logic        s_awready,
    input  logic [31:0] s_wdata,
    input  logic [3:0]  s_wstrb,
    input  logic        s_wvalid,
    output logic        s_wready,
    output logic [1:0]  s_bresp,
    output logic        s_bvalid,
    input  logic        s_bready,
    input  logic [12:0] s_araddr,
    input  logic        s_arvalid,
    output logic        s_arready,
    output logic [31:0] s_rdata,
    output logic [1:0]  s_rresp,
    output logic        s_rvalid,
    input  logic        s_rready,

    input  logic [3:0]    identity_n_boards,
    output logic [31:0]   identity_scratch,
    output logic          control_enable,
    output logic          control_promiscuous,
    output logic          control_cut_through,
    output logic          control_merge,
    output logic          control_flush,
    output logic [1:0]    control_interrupt_enable,
    input  logic [1:0]    control_interrupt_status,
    input  logic          control_idle,
    output logic [31:0]   address_mac_low,
    output logic [15:0]   address_mac_high,
    output logic [31:0]   address_ip,
    output logic [271:0]  stream_port,
    input  logic [31:0]   clock_now,
    output logic [7:0]    merger_boards,
    output logic [7:0]    merger_window,
    output logic [31:0]   merger_timeout,
    output logic [31:0]   merger_far_fine_low,
    output logic [7:0]    merger_far_fine_high,
    output logic [9:0]    merger_n_channels,
    output logic          merger_keep_incomplete,
    output logic          merger_drop_when_full,
    input  logic [7:0]    merger_silent,
    input  logic [7:0]    merger_ended,
    input  logic [31:0]   merger_fragments,
    input  logic [31:0]   merger_hits,
    output logic [127:0]  board_id,
    output logic [31:0]   board_stream,
    output logic [31:0]   ring_base_low,
    output logic [31:0]   ring_base_high,
    output logic [4:0]    ring_size_log2,
    input  logic [31:0]   ring_head,
    output logic [31:0]   ring_tail,
    input  logic [31:0]   page_missing,
    output logic          list_write,
    output logic [4:0]    list_index,
    output logic [2:0]    list_register,
    output logic [31:0]   list_data,
    output logic          tlb_write,
    output logic [3:0]    tlb_index,
    output logic [1:0]    tlb_register,
    output logic [31:0]   tlb_data,
    input  logic [84:0]   count_pulse
);
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

    // --- Writing: both channels are taken together
    logic        write_q, write_known;
    logic [12:0] write_address_q;
    logic [31:0] write_data_q;
    logic        write_whole_q;

    assign s_awready = s_awvalid && s_wvalid && !write_q && !s_bvalid;
    assign s_wready  = s_awready;

    always_ff @(posedge clk) begin
        write_q <= s_awready;
        if (s_awready) begin
            write_address_q <= s_awaddr;
            write_data_q    <= s_wdata;
            write_whole_q   <= &s_wstrb;
        end
        if (s_bready) s_bvalid <= 1'b0;
        if (write_q) begin
            s_bvalid <= 1'b1;
            s_bresp  <= write_known && write_whole_q ? OKAY : SLVERR;
        end
        if (rst) begin
            write_q  <= 1'b0;
            s_bvalid <= 1'b0;
        end
    end

    always_comb begin
        case ({write_address_q[12:2], 2'b00})
            13'h0014,
            13'h0040,
            13'h0044,
            13'h0048,
            13'h004c,
            13'h0050,
            13'h0054,
            13'h0080,
            13'h0084,
            13'h0088,
            13'h0100,
            13'h0104,
            13'h0108,
            13'h010c,
            13'h0110,
            13'h0114,
            13'h0118,
            13'h011c,
            13'h0120,
            13'h0124,
            13'h0128,
            13'h012c,
            13'h0130,
            13'h0134,
            13'h0138,
            13'h013c,
            13'h0200,
            13'h0204,
            13'h0208,
            13'h020c,
            13'h0210,
            13'h0214,
            13'h0218,
            13'h021c,
            13'h0240,
            13'h0244,
            13'h0248,
            13'h024c,
            13'h0250,
            13'h0254,
            13'h0258,
            13'h025c,
            13'h0260,
            13'h0264,
            13'h0268,
            13'h026c,
            13'h0270,
            13'h0274,
            13'h0278,
            13'h027c,
            13'h01c0,
            13'h01c4,
            13'h01c8,
            13'h01d0: write_known = 1'b1;
            default: write_known = (write_address_q[12:10] == 3'd1 && write_address_q[9:5] < 5'd17) || (write_address_q[12:8] == 5'd8);
        endcase
    end

    logic write_done;
    assign write_done = write_q && write_whole_q;
    always_ff @(posedge clk) begin
        control_flush <= '0;
        if (write_done) begin
            case ({write_address_q[12:2], 2'b00})
                13'h0014: identity_scratch <= write_data_q[31:0];
                13'h0040: control_enable <= write_data_q[0:0];
                13'h0044: control_promiscuous <= write_data_q[0:0];
                13'h0048: control_cut_through <= write_data_q[0:0];
                13'h004c: control_merge <= write_data_q[0:0];
                13'h0050: control_flush <= write_data_q[0:0];
                13'h0054: control_interrupt_enable <= write_data_q[1:0];
                13'h0080: address_mac_low <= write_data_q[31:0];
                13'h0084: address_mac_high <= write_data_q[15:0];
                13'h0088: address_ip <= write_data_q[31:0];
                13'h0100: stream_port[16:0] <= write_data_q[16:0];
                13'h0104: stream_port[33:17] <= write_data_q[16:0];
                13'h0108: stream_port[50:34] <= write_data_q[16:0];
                13'h010c: stream_port[67:51] <= write_data_q[16:0];
                13'h0110: stream_port[84:68] <= write_data_q[16:0];
                13'h0114: stream_port[101:85] <= write_data_q[16:0];
                13'h0118: stream_port[118:102] <= write_data_q[16:0];
                13'h011c: stream_port[135:119] <= write_data_q[16:0];
                13'h0120: stream_port[152:136] <= write_data_q[16:0];
                13'h0124: stream_port[169:153] <= write_data_q[16:0];
                13'h0128: stream_port[186:170] <= write_data_q[16:0];
                13'h012c: stream_port[203:187] <= write_data_q[16:0];
                13'h0130: stream_port[220:204] <= write_data_q[16:0];
                13'h0134: stream_port[237:221] <= write_data_q[16:0];
                13'h0138: stream_port[254:238] <= write_data_q[16:0];
                13'h013c: stream_port[271:255] <= write_data_q[16:0];
                13'h0200: merger_boards <= write_data_q[7:0];
                13'h0204: merger_window <= write_data_q[7:0];
                13'h0208: merger_timeout <= write_data_q[31:0];
                13'h020c: merger_far_fine_low <= write_data_q[31:0];
                13'h0210: merger_far_fine_high <= write_data_q[7:0];
                13'h0214: merger_n_channels <= write_data_q[9:0];
                13'h0218: merger_keep_incomplete <= write_data_q[0:0];
                13'h021c: merger_drop_when_full <= write_data_q[0:0];
                13'h0240: board_id[15:0] <= write_data_q[15:0];
                13'h0244: board_stream[3:0] <= write_data_q[3:0];
                13'h0248: board_id[31:16] <= write_data_q[15:0];
                13'h024c: board_stream[7:4] <= write_data_q[3:0];
                13'h0250: board_id[47:32] <= write_data_q[15:0];
                13'h0254: board_stream[11:8] <= write_data_q[3:0];
                13'h0258: board_id[63:48] <= write_data_q[15:0];
                13'h025c: board_stream[15:12] <= write_data_q[3:0];
                13'h0260: board_id[79:64] <= write_data_q[15:0];
                13'h0264: board_stream[19:16] <= write_data_q[3:0];
                13'h0268: board_id[95:80] <= write_data_q[15:0];
                13'h026c: board_stream[23:20] <= write_data_q[3:0];
                13'h0270: board_id[111:96] <= write_data_q[15:0];
                13'h0274: board_stream[27:24] <= write_data_q[3:0];
                13'h0278: board_id[127:112] <= write_data_q[15:0];
                13'h027c: board_stream[31:28] <= write_data_q[3:0];
                13'h01c0: ring_base_low <= write_data_q[31:0];
                13'h01c4: ring_base_high <= write_data_q[31:0];
                13'h01c8: ring_size_log2 <= write_data_q[4:0];
                13'h01d0: ring_tail <= write_data_q[31:0];
                default: ;
            endcase
        end
        if (rst) begin
            identity_scratch <= 32'd0;
            control_enable <= 1'd0;
            control_promiscuous <= 1'd0;
            control_cut_through <= 1'd0;
            control_merge <= 1'd0;
            control_flush <= 1'd0;
            control_interrupt_enable <= 2'd0;
            address_mac_low <= 32'd0;
            address_mac_high <= 16'd0;
            address_ip <= 32'd0;
            stream_port <= 272'd0;
            merger_boards <= 8'd0;
            merger_window <= 8'd1;
            merger_timeout <= 32'd156250;
            merger_far_fine_low <= 32'd10260343;
            merger_far_fine_high <= 8'd0;
            merger_n_channels <= 10'd488;
            merger_keep_incomplete <= 1'd1;
            merger_drop_when_full <= 1'd0;
            board_id <= 128'd0;
            board_stream <= 32'd0;
            ring_base_low <= 32'd0;
            ring_base_high <= 32'd0;
            ring_size_log2 <= 5'd0;
            ring_tail <= 32'd0;
        end
    end

    always_ff @(posedge clk) begin
        list_write    <= write_done && (write_address_q[12:10] == 3'd1 && write_address_q[9:5] < 5'd17) && !rst;
        list_index    <= write_address_q[9:5];
        list_register <= write_address_q[4:2];
        list_data     <= write_data_q;
    end

    always_ff @(posedge clk) begin
        tlb_write    <= write_done && (write_address_q[12:8] == 5'd8) && !rst;
        tlb_index    <= write_address_q[7:4];
        tlb_register <= write_address_q[3:2];
        tlb_data     <= write_data_q;
    end

    // --- Reading: address, the word in each kind of memory, the one that was meant
    logic        read_1_q, read_2_q, read_3_q;
    logic [12:0] read_address_q;
    logic [31:0] scalar_q, scalar_2_q, count_sum, shadow_q, shadow_2_q;
    logic        scalar_known_q, scalar_known_2_q;

    assign s_arready = s_arvalid && !read_1_q && !read_2_q && !read_3_q && !s_rvalid;

    count_bank #(.N(85), .INDEX_BITS(7)) counts (
        .clk(clk), .rst(rst), .pulse(count_pulse), .index(read_address_q[8:2]), .count(count_sum));

    // What was written, of which a register's own bits alone are read. From a RAM, as a choice among all registers is
    // large; before a register's first write, what it has from the reset stands among the constants.
    logic        kept_q, kept_2_q;
    logic [52:0] written_q;
    logic [31:0] own_bits, own_bits_q, own_bits_2_q;
    logic [31:0] shadow [0:1023];
    always_comb begin
        case ({read_address_q[12:2], 2'b00})
            13'h0040, 13'h0044, 13'h0048, 13'h004c, 13'h0218, 13'h021c: own_bits = 32'h00000001;
            13'h0054: own_bits = 32'h00000003;
            13'h0244, 13'h024c, 13'h0254, 13'h025c, 13'h0264, 13'h026c, 13'h0274, 13'h027c: own_bits = 32'h0000000f;
            13'h01c8: own_bits = 32'h0000001f;
            13'h0200, 13'h0204, 13'h0210: own_bits = 32'h000000ff;
            13'h0214: own_bits = 32'h000003ff;
            13'h0084, 13'h0240, 13'h0248, 13'h0250, 13'h0258, 13'h0260, 13'h0268, 13'h0270, 13'h0278: own_bits = 32'h0000ffff;
            13'h0100, 13'h0104, 13'h0108, 13'h010c, 13'h0110, 13'h0114, 13'h0118, 13'h011c, 13'h0120, 13'h0124,
            13'h0128, 13'h012c, 13'h0130, 13'h0134, 13'h0138, 13'h013c: own_bits = 32'h0001ffff;
            default: own_bits = '1;
        endcase
    end
    logic        keep_q;
    logic [9:0] keep_address_q;
    logic [31:0] keep_data_q;
    always_ff @(posedge clk) begin
        keep_q         <= write_done && write_known;
        keep_address_q <= write_address_q[11:2];
        keep_data_q    <= write_data_q;
        if (keep_q) shadow[keep_address_q] <= keep_data_q;
        shadow_q <= shadow[read_address_q[11:2]];
    end
    always_ff @(posedge clk) begin
        if (write_done) begin
            case ({write_address_q[12:2], 2'b00})
                13'h0014: written_q[0] <= 1'b1;
                13'h0040: written_q[1] <= 1'b1;
                13'h0044: written_q[2] <= 1'b1;
                13'h0048: written_q[3] <= 1'b1;
                13'h004c: written_q[4] <= 1'b1;
                13'h0054: written_q[5] <= 1'b1;
                13'h0080: written_q[6] <= 1'b1;
                13'h0084: written_q[7] <= 1'b1;
                13'h0088: written_q[8] <= 1'b1;
                13'h0100: written_q[9] <= 1'b1;
                13'h0104: written_q[10] <= 1'b1;
                13'h0108: written_q[11] <= 1'b1;
                13'h010c: written_q[12] <= 1'b1;
                13'h0110: written_q[13] <= 1'b1;
                13'h0114: written_q[14] <= 1'b1;
                13'h0118: written_q[15] <= 1'b1;
                13'h011c: written_q[16] <= 1'b1;
                13'h0120: written_q[17] <= 1'b1;
                13'h0124: written_q[18] <= 1'b1;
                13'h0128: written_q[19] <= 1'b1;
                13'h012c: written_q[20] <= 1'b1;
                13'h0130: written_q[21] <= 1'b1;
                13'h0134: written_q[22] <= 1'b1;
                13'h0138: written_q[23] <= 1'b1;
                13'h013c: written_q[24] <= 1'b1;
                13'h0200: written_q[25] <= 1'b1;
                13'h0204: written_q[26] <= 1'b1;
                13'h0208: written_q[27] <= 1'b1;
                13'h020c: written_q[28] <= 1'b1;
                13'h0210: written_q[29] <= 1'b1;
                13'h0214: written_q[30] <= 1'b1;
                13'h0218: written_q[31] <= 1'b1;
                13'h021c: written_q[32] <= 1'b1;
                13'h0240: written_q[33] <= 1'b1;
                13'h0244: written_q[34] <= 1'b1;
                13'h0248: written_q[35] <= 1'b1;
                13'h024c: written_q[36] <= 1'b1;
                13'h0250: written_q[37] <= 1'b1;
                13'h0254: written_q[38] <= 1'b1;
                13'h0258: written_q[39] <= 1'b1;
                13'h025c: written_q[40] <= 1'b1;
                13'h0260: written_q[41] <= 1'b1;
                13'h0264: written_q[42] <= 1'b1;
                13'h0268: written_q[43] <= 1'b1;
                13'h026c: written_q[44] <= 1'b1;
                13'h0270: written_q[45] <= 1'b1;
                13'h0274: written_q[46] <= 1'b1;
                13'h0278: written_q[47] <= 1'b1;
                13'h027c: written_q[48] <= 1'b1;
                13'h01c0: written_q[49] <= 1'b1;
                13'h01c4: written_q[50] <= 1'b1;
                13'h01c8: written_q[51] <= 1'b1;
                13'h01d0: written_q[52] <= 1'b1;
                default: ;
            endcase
        end
        if (rst) written_q <= '0;
    end

    always_ff @(posedge clk) begin
        scalar_known_q <= 1'b1;
        kept_q         <= 1'b0;
        case ({read_address_q[12:2], 2'b00})
            13'h0000: scalar_q <= 32'h4f4e414e;
            13'h0004: scalar_q <= 32'h00010002;
            13'h0008: scalar_q <= 32'h00000010;
            13'h000c: scalar_q <= {28'd0, identity_n_boards};
            13'h0010: scalar_q <= 32'h00000011;
            13'h0058: scalar_q <= {30'd0, control_interrupt_status};
            13'h005c: scalar_q <= {31'd0, control_idle};
            13'h0180: scalar_q <= clock_now;
            13'h0220: scalar_q <= {24'd0, merger_silent};
            13'h0224: scalar_q <= {24'd0, merger_ended};
            13'h0228: scalar_q <= merger_fragments;
            13'h022c: scalar_q <= merger_hits;
            13'h01cc: scalar_q <= ring_head;
            13'h01e0: scalar_q <= page_missing;
            13'h0014: {kept_q, scalar_q} <= {written_q[0], 32'h00000000};
            13'h0040: {kept_q, scalar_q} <= {written_q[1], 32'h00000000};
            13'h0044: {kept_q, scalar_q} <= {written_q[2], 32'h00000000};
            13'h0048: {kept_q, scalar_q} <= {written_q[3], 32'h00000000};
            13'h004c: {kept_q, scalar_q} <= {written_q[4], 32'h00000000};
            13'h0054: {kept_q, scalar_q} <= {written_q[5], 32'h00000000};
            13'h0080: {kept_q, scalar_q} <= {written_q[6], 32'h00000000};
            13'h0084: {kept_q, scalar_q} <= {written_q[7], 32'h00000000};
            13'h0088: {kept_q, scalar_q} <= {written_q[8], 32'h00000000};
            13'h0100: {kept_q, scalar_q} <= {written_q[9], 32'h00000000};
            13'h0104: {kept_q, scalar_q} <= {written_q[10], 32'h00000000};
            13'h0108: {kept_q, scalar_q} <= {written_q[11], 32'h00000000};
            13'h010c: {kept_q, scalar_q} <= {written_q[12], 32'h00000000};
            13'h0110: {kept_q, scalar_q} <= {written_q[13], 32'h00000000};
            13'h0114: {kept_q, scalar_q} <= {written_q[14], 32'h00000000};
            13'h0118: {kept_q, scalar_q} <= {written_q[15], 32'h00000000};
            13'h011c: {kept_q, scalar_q} <= {written_q[16], 32'h00000000};
            13'h0120: {kept_q, scalar_q} <= {written_q[17], 32'h00000000};
            13'h0124: {kept_q, scalar_q} <= {written_q[18], 32'h00000000};
            13'h0128: {kept_q, scalar_q} <= {written_q[19], 32'h00000000};
            13'h012c: {kept_q, scalar_q} <= {written_q[20], 32'h00000000};
            13'h0130: {kept_q, scalar_q} <= {written_q[21], 32'h00000000};
            13'h0134: {kept_q, scalar_q} <= {written_q[22], 32'h00000000};
            13'h0138: {kept_q, scalar_q} <= {written_q[23], 32'h00000000};
            13'h013c: {kept_q, scalar_q} <= {written_q[24], 32'h00000000};
            13'h0200: {kept_q, scalar_q} <= {written_q[25], 32'h00000000};
            13'h0204: {kept_q, scalar_q} <= {written_q[26], 32'h00000001};
            13'h0208: {kept_q, scalar_q} <= {written_q[27], 32'h0002625a};
            13'h020c: {kept_q, scalar_q} <= {written_q[28], 32'h009c8f77};
            13'h0210: {kept_q, scalar_q} <= {written_q[29], 32'h00000000};
            13'h0214: {kept_q, scalar_q} <= {written_q[30], 32'h000001e8};
            13'h0218: {kept_q, scalar_q} <= {written_q[31], 32'h00000001};
            13'h021c: {kept_q, scalar_q} <= {written_q[32], 32'h00000000};
            13'h0240: {kept_q, scalar_q} <= {written_q[33], 32'h00000000};
            13'h0244: {kept_q, scalar_q} <= {written_q[34], 32'h00000000};
            13'h0248: {kept_q, scalar_q} <= {written_q[35], 32'h00000000};
            13'h024c: {kept_q, scalar_q} <= {written_q[36], 32'h00000000};
            13'h0250: {kept_q, scalar_q} <= {written_q[37], 32'h00000000};
            13'h0254: {kept_q, scalar_q} <= {written_q[38], 32'h00000000};
            13'h0258: {kept_q, scalar_q} <= {written_q[39], 32'h00000000};
            13'h025c: {kept_q, scalar_q} <= {written_q[40], 32'h00000000};
            13'h0260: {kept_q, scalar_q} <= {written_q[41], 32'h00000000};
            13'h0264: {kept_q, scalar_q} <= {written_q[42], 32'h00000000};
            13'h0268: {kept_q, scalar_q} <= {written_q[43], 32'h00000000};
            13'h026c: {kept_q, scalar_q} <= {written_q[44], 32'h00000000};
            13'h0270: {kept_q, scalar_q} <= {written_q[45], 32'h00000000};
            13'h0274: {kept_q, scalar_q} <= {written_q[46], 32'h00000000};
            13'h0278: {kept_q, scalar_q} <= {written_q[47], 32'h00000000};
            13'h027c: {kept_q, scalar_q} <= {written_q[48], 32'h00000000};
            13'h01c0: {kept_q, scalar_q} <= {written_q[49], 32'h00000000};
            13'h01c4: {kept_q, scalar_q} <= {written_q[50], 32'h00000000};
            13'h01c8: {kept_q, scalar_q} <= {written_q[51], 32'h00000000};
            13'h01d0: {kept_q, scalar_q} <= {written_q[52], 32'h00000000};
            default: begin
                scalar_q       <= 32'd0;
                scalar_known_q <= 1'b0;
            end
        endcase
        scalar_2_q       <= scalar_q;
        scalar_known_2_q <= scalar_known_q;
        kept_2_q         <= kept_q;
        shadow_2_q       <= shadow_q;
        own_bits_q       <= own_bits;
        own_bits_2_q     <= own_bits_q;
    end

    logic is_count, is_table;
    assign is_count = (read_address_q >= 13'h1000 && read_address_q <= 13'h1153);
    assign is_table = (read_address_q[12:10] == 3'd1 && read_address_q[9:5] < 5'd17) || (read_address_q[12:8] == 5'd8);

    always_ff @(posedge clk) begin
        read_1_q <= s_arready;
        read_2_q <= read_1_q;
        read_3_q <= read_2_q;
        if (s_arready) read_address_q <= s_araddr;
        if (s_rready) s_rvalid <= 1'b0;
        if (read_3_q) begin
            s_rvalid <= 1'b1;
            s_rdata  <= is_count ? count_sum : is_table || kept_2_q ? shadow_2_q & own_bits_2_q : scalar_2_q;
            s_rresp  <= is_count || is_table || scalar_known_2_q ? OKAY : SLVERR;
        end
        if (rst) begin
            read_1_q <= 1'b0;
            read_2_q <= 1'b0;
            read_3_q <= 1'b0;
            s_rvalid <= 1'b0;
        end
    end
endmodule
