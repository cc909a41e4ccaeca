// SPDX-License-Identifier: Apache-2.0
//
// record_writer: turns payloads, record headers and completions into write requests and their data.
//
// In:  c_*: decision on the record whose first beat is offered at s_*: its address, or discard; s_*: the payload
//      stream; r_*: completions (32 bytes), which are written between two records.
// Out: q_*: requests (virtual address, bytes, kind); d_*: their data in words; finish_*: the record's last beat came.
// Latency: c to first data word 2 cycles; a record takes 2 + 4 cycles in addition to its payload's words.
// The header is written after the payload, by its own request, as cut-through knows it only then. The payload request
// always has `length` bytes: a stream that ends early is filled with zeros, a longer one is cut, and flag bit 2
// says so. So no write leaves its buffer because of a wrong length.

module record_writer (
    input  logic         clk,
    input  logic         rst,
    input  logic [31:0]  now,

    input  logic         c_valid,
    output logic         c_ready,
    input  logic         c_discard,
    input  logic [47:0]  c_address,
    input  logic [15:0]  c_length,
    input  logic [4:0]   c_stream,
    input  logic [31:0]  c_src_ip,
    input  logic [15:0]  c_src_port,
    input  logic [31:0]  c_stamp,

    input  logic [63:0]  s_tdata,
    input  logic [7:0]   s_tkeep,
    input  logic         s_tvalid,
    output logic         s_tready,
    input  logic         s_tlast,
    input  logic         s_tuser,
    input  logic         s_end_of_burst,

    input  logic [255:0] r_data,
    input  logic [47:0]  r_address,
    input  logic         r_valid,
    output logic         r_ready,

    output logic [47:0]  q_address,
    output logic [15:0]  q_bytes,
    output logic [1:0]   q_kind,
    output logic         q_valid,
    input  logic         q_ready,
    output logic [63:0]  d_data,
    output logic         d_valid,
    input  logic         d_ready,

    output logic         finish,
    output logic         finish_bad,
    output logic         finish_end_of_burst
);

    localparam [2:0] IDLE = 3'd0, PAYLOAD = 3'd1, FILL = 3'd2, TRIM = 3'd3, HEADER = 3'd4, BLOCK = 3'd5;
    localparam [1:0] KIND_PART = 2'd0, KIND_RECORD = 2'd1, KIND_COMPLETION = 2'd2;

    logic [2:0]   state_q;
    logic         discard_q, odd_q, bad_q, end_of_burst_q;
    logic [47:0]  address_q;
    logic [15:0]  length_q, src_port_q;
    logic [4:0]   stream_q;
    logic [31:0]  src_ip_q, stamp_q, last_stamp_q;
    logic [13:0]  words_left_q;
    logic [255:0] block_q;
    logic [2:0]   block_left_q;

    wire [16:0] c_words = ({1'b0, c_length} + 17'd7) >> 3;
    wire d_room = !d_valid || d_ready;
    wire q_room = !q_valid || q_ready;
    wire last_word = words_left_q == 14'd1;
    wire [7:0] last_keep = 8'hff >> (3'd0 - length_q[2:0]);

    // A completion goes first: its buffer is complete, and a record can wait four cycles.
    assign r_ready = state_q == IDLE && q_room;
    assign c_ready = state_q == IDLE && q_room && !r_valid;
    assign s_tready = (state_q == PAYLOAD && d_room) || state_q == TRIM;
    wire beat = s_tvalid && s_tready;
    // Bytes that the stream lacks are zero, in its last word and in the words after it.
    wire [63:0] kept = {{8{s_tkeep[7]}}, {8{s_tkeep[6]}}, {8{s_tkeep[5]}}, {8{s_tkeep[4]}},
                        {8{s_tkeep[3]}}, {8{s_tkeep[2]}}, {8{s_tkeep[1]}}, {8{s_tkeep[0]}}};
    // This beat, or its place, contradicts the length.
    wire odd = state_q == PAYLOAD ? (s_tlast ? !(last_word && s_tkeep == last_keep) : last_word)
                                  : !discard_q && s_tkeep != 8'd0;
    wire [7:0] flags = {5'd0, odd_q, end_of_burst_q, bad_q};

    always @(posedge clk) begin
        finish <= 1'b0;
        if (d_ready) d_valid <= 1'b0;
        if (q_ready) q_valid <= 1'b0;

        if (beat && odd) odd_q <= 1'b1;
        if (beat && s_tlast) begin
            bad_q               <= s_tuser;
            end_of_burst_q      <= s_end_of_burst;
            last_stamp_q        <= now;
            finish              <= 1'b1;
            finish_bad          <= (s_tuser || odd || odd_q) && !discard_q;
            finish_end_of_burst <= s_end_of_burst;
        end

        case (state_q)
            IDLE: begin
                odd_q <= 1'b0;
                if (r_valid && r_ready) begin
                    block_q      <= r_data;
                    block_left_q <= 3'd4;
                    q_address    <= r_address;
                    q_bytes      <= 16'd32;
                    q_kind       <= KIND_COMPLETION;
                    q_valid      <= 1'b1;
                    state_q      <= BLOCK;
                end else if (c_valid && c_ready) begin
                    discard_q    <= c_discard;
                    address_q    <= c_address;
                    length_q     <= c_length;
                    stream_q     <= c_stream;
                    src_ip_q     <= c_src_ip;
                    src_port_q   <= c_src_port;
                    stamp_q      <= c_stamp;
                    words_left_q <= c_words[13:0];
                    q_address    <= {c_address[47:6], 6'd32};
                    q_bytes      <= c_length;
                    q_kind       <= KIND_PART;
                    q_valid      <= !c_discard && c_length != 16'd0;
                    state_q      <= c_discard || c_length == 16'd0 ? TRIM : PAYLOAD;
                end
            end
            PAYLOAD: if (beat) begin
                d_data       <= s_tdata & kept;
                d_valid      <= 1'b1;
                words_left_q <= words_left_q - 14'd1;
                if (s_tlast) state_q <= last_word ? HEADER : FILL;
                else if (last_word) state_q <= TRIM;
            end
            FILL: if (d_room) begin
                d_data       <= 64'd0;
                d_valid      <= 1'b1;
                words_left_q <= words_left_q - 14'd1;
                if (last_word) state_q <= HEADER;
            end
            TRIM: if (beat && s_tlast) state_q <= discard_q ? IDLE : HEADER;
            HEADER: if (d_room && q_room) begin
                d_data       <= {src_ip_q, flags, 3'd0, stream_q, length_q};
                d_valid      <= 1'b1;
                block_q      <= {64'd0, 64'd0, 32'd0, last_stamp_q, stamp_q, 16'd0, src_port_q};
                block_left_q <= 3'd3;
                q_address    <= address_q;
                q_bytes      <= 16'd32;
                q_kind       <= KIND_RECORD;
                q_valid      <= 1'b1;
                state_q      <= BLOCK;
            end
            default: if (d_room) begin
                d_data       <= block_q[63:0];
                d_valid      <= 1'b1;
                block_q      <= {64'd0, block_q[255:64]};
                block_left_q <= block_left_q - 3'd1;
                if (block_left_q == 3'd1) state_q <= IDLE;
            end
        endcase

        if (rst) begin
            state_q <= IDLE;
            d_valid <= 1'b0;
            q_valid <= 1'b0;
            finish  <= 1'b0;
        end
    end
endmodule
