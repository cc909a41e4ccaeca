// SPDX-License-Identifier: Apache-2.0
//
// tlb: translates virtual addresses of write requests into physical ones, for 16 pages of 64 kB.
//
// In:  requests that lie within one page (s_*); entries from the host: tlb_index the entry, tlb_register 0 virtual
//      page, 1 and 2 lower and upper part of the physical page, 3 valid (write it last; writing the others clears it).
// Out: the same requests with physical addresses (m_*). A missing page stops this request and all later ones: missing
//      is 1 and missing_page its number until the host has given it; miss: a pulse per page, stall: one per cycle.
// Latency: 3 cycles; one request in 3 cycles. Each request is looked up, as an entry may be removed at any time.
// With two entries for one page the lower one counts.

module tlb #(
    parameter BYTES_WIDTH = 13
) (
    input  logic                   clk,
    input  logic                   rst,

    input  logic                   tlb_write,
    input  logic [3:0]             tlb_index,
    input  logic [1:0]             tlb_register,
    input  logic [31:0]            tlb_data,

    input  logic [47:0]            s_address,
    input  logic [BYTES_WIDTH-1:0] s_bytes,
    input  logic [1:0]             s_kind,
    input  logic                   s_valid,
    output logic                   s_ready,

    output logic [63:0]            m_address,
    output logic [BYTES_WIDTH-1:0] m_bytes,
    output logic [1:0]             m_kind,
    output logic                   m_valid,
    input  logic                   m_ready,

    output logic                   missing,
    output logic [31:0]            missing_page,
    output logic                   miss,
    output logic                   stall
);

    localparam [1:0] LOOK = 2'd0, PICK = 2'd1, GIVE = 2'd2;

    logic [31:0] virtual_q [0:15];
    logic [15:0] valid_q;
    logic [31:0] low_ram [0:15];
    logic [15:0] high_ram [0:15];
    logic [1:0]  state_q;
    logic [15:0] match, match_q;
    logic [47:0] page_q;
    logic [3:0]  entry;

    always @(posedge clk) begin
        if (tlb_write && tlb_register == 2'd0) virtual_q[tlb_index] <= tlb_data;
        if (tlb_write) valid_q[tlb_index] <= tlb_register == 2'd3 && tlb_data[0];
        if (rst) valid_q <= 16'd0;
    end
    always @(posedge clk) if (tlb_write && tlb_register == 2'd1) low_ram[tlb_index] <= tlb_data;
    always @(posedge clk) if (tlb_write && tlb_register == 2'd2) high_ram[tlb_index] <= tlb_data[15:0];

    integer i;
    always @* begin
        for (i = 0; i < 16; i = i + 1) match[i] = valid_q[i] && virtual_q[i] == s_address[47:16];
        entry = 4'd0;
        for (i = 15; i >= 0; i = i - 1) if (match_q[i]) entry = i[3:0];
    end
    always @(posedge clk) begin
        page_q[31:0]  <= low_ram[entry];
        page_q[47:32] <= high_ram[entry];
    end

    wire give = state_q == GIVE && (!m_valid || m_ready);
    assign s_ready = give;

    always @(posedge clk) begin
        match_q <= match;
        miss    <= 1'b0;
        stall   <= 1'b0;
        case (state_q)
            LOOK: if (s_valid) state_q <= PICK;
            PICK: begin
                missing <= match_q == 16'd0;
                miss    <= match_q == 16'd0 && !missing;
                stall   <= match_q == 16'd0;
                if (match_q != 16'd0) state_q <= GIVE;
                else missing_page <= s_address[47:16];
            end
            default: if (give) state_q <= LOOK;
        endcase
        if (give) begin
            m_address <= {page_q, s_address[15:0]};
            m_bytes   <= s_bytes;
            m_kind    <= s_kind;
            m_valid   <= 1'b1;
        end else if (m_ready) m_valid <= 1'b0;
        if (rst) begin
            state_q <= LOOK;
            missing <= 1'b0;
            m_valid <= 1'b0;
        end
    end
endmodule
