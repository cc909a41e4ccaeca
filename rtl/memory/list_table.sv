// SPDX-License-Identifier: Apache-2.0
//
// list_table: the host's settings of the 17 lists of buffers, and how far each list is written.
//
// In:  list_*: writes from the register file (list_register as in registers.yaml: 0 and 1 base, 2 buffer_bytes,
//      3 n_buffers, 4 max_records, 5 gathering_cycles, 6 overwrite, 7 credit); read_list; state_* to be kept.
// Out: for read_list, one cycle later: settings, state, returned (credits so far); is_on and is_fresh by list.
// Latency: 1 cycle; a credit counts 2 cycles after its write.
// A write to n_buffers starts the list anew (is_fresh: its state in the RAM is not valid yet); 0 closes it. Each RAM
// has one writer: the sum of credits is separate from the sum of buffers handed on, so there is no conflict.

module list_table #(
    parameter STATE_WIDTH = 1
) (
    input  logic                   clk,
    input  logic                   rst,

    input  logic                   list_write,
    input  logic [4:0]             list_index,
    input  logic [2:0]             list_register,
    input  logic [31:0]            list_data,

    input  logic [4:0]             read_list,
    output logic [47:0]            base,
    output logic [23:0]            buffer_bytes,
    output logic [6:0]             n_buffers,
    output logic [15:0]            max_records,
    output logic [23:0]            gathering_cycles,
    output logic                   overwrite,
    output logic [31:0]            returned,
    output logic [STATE_WIDTH-1:0] state,

    input  logic                   state_write,
    input  logic [4:0]             state_list,
    input  logic [STATE_WIDTH-1:0] state_next,

    output logic [31:0]            is_on,
    output logic [31:0]            is_fresh
);

    logic [31:0]            base_low_ram [0:31];
    logic [15:0]            base_high_ram [0:31];
    logic [23:0]            bytes_ram [0:31];
    logic [6:0]             n_ram [0:31];
    logic [15:0]            max_ram [0:31];
    logic [23:0]            gathering_ram [0:31];
    logic [31:0]            returned_ram [0:31];
    logic [STATE_WIDTH-1:0] state_ram [0:31];
    logic [31:0]            overwrite_q;

    always @(posedge clk) if (list_write && list_register == 3'd0) base_low_ram[list_index] <= list_data;
    always @(posedge clk) if (list_write && list_register == 3'd1) base_high_ram[list_index] <= list_data[15:0];
    always @(posedge clk) if (list_write && list_register == 3'd2) bytes_ram[list_index] <= list_data[23:0];
    always @(posedge clk) if (list_write && list_register == 3'd3) n_ram[list_index] <= list_data[6:0];
    always @(posedge clk) if (list_write && list_register == 3'd4) max_ram[list_index] <= list_data[15:0];
    always @(posedge clk) if (list_write && list_register == 3'd5) gathering_ram[list_index] <= list_data[23:0];
    always @(posedge clk) if (state_write) state_ram[state_list] <= state_next;

    always @(posedge clk) base[31:0] <= base_low_ram[read_list];
    always @(posedge clk) base[47:32] <= base_high_ram[read_list];
    always @(posedge clk) buffer_bytes <= bytes_ram[read_list];
    always @(posedge clk) n_buffers <= n_ram[read_list];
    always @(posedge clk) max_records <= max_ram[read_list];
    always @(posedge clk) gathering_cycles <= gathering_ram[read_list];
    always @(posedge clk) returned <= returned_ram[read_list];
    always @(posedge clk) state <= state_ram[read_list];
    always @(posedge clk) overwrite <= overwrite_q[read_list];

    wire starts = list_write && list_register == 3'd3;
    always @(posedge clk) begin
        if (list_write && list_register == 3'd6) overwrite_q[list_index] <= list_data[0];
        if (state_write) is_fresh[state_list] <= 1'b0;
        if (starts) is_fresh[list_index] <= 1'b1;
        if (starts) is_on[list_index] <= list_data[6:0] != 7'd0 && list_data[6:0] <= 7'd64;
        if (rst) is_on <= 32'd0;
    end

    // Credits: read, add, write. A sum that is being written in this cycle is taken from its register.
    logic        credit_q, clear_q, wrote_q;
    logic [4:0]  credit_list_q, wrote_list_q;
    logic [6:0]  credit_n_q;
    logic [31:0] old_q, wrote_sum_q;
    wire [31:0]  old = wrote_q && wrote_list_q == credit_list_q ? wrote_sum_q : old_q;
    wire [31:0]  sum = clear_q ? 32'd0 : old + {25'd0, credit_n_q};
    always @(posedge clk) old_q <= returned_ram[list_index];
    always @(posedge clk) if (credit_q) returned_ram[credit_list_q] <= sum;
    always @(posedge clk) begin
        credit_q      <= list_write && (list_register == 3'd7 || starts);
        clear_q       <= starts;
        credit_list_q <= list_index;
        credit_n_q    <= list_data[6:0];
        wrote_q       <= credit_q;
        wrote_list_q  <= credit_list_q;
        wrote_sum_q   <= sum;
        if (rst) begin
            credit_q <= 1'b0;
            wrote_q  <= 1'b0;
        end
    end
endmodule
