// SPDX-License-Identifier: Apache-2.0
//
// port_table: finds the stream of a UDP destination port; it compares 16 entries at once.
//
// In:  port; entry_valid and entry_port (entry i in bits 16*i+15:16*i) from registers, constant while frames come.
// Out: found and stream, the number of the first entry that matches.
// Latency: found 1 cycle; stream 1 cycle and a priority encoder after the register.

module port_table (
    input  logic         clk,
    input  logic [15:0]  port,
    input  logic [15:0]  entry_valid,
    input  logic [255:0] entry_port,
    output logic         found,
    output logic [3:0]   stream
);

    logic [15:0] match;
    always_comb begin
        for (int i = 0; i < 16; i++) match[i] = entry_valid[i] && entry_port[16*i +: 16] == port;
    end

    logic [15:0] match_q;
    always_ff @(posedge clk) begin
        match_q <= match;
        found   <= |match;
    end

    always_comb begin
        stream = 4'd0;
        for (int i = 15; i >= 0; i--) if (match_q[i]) stream = i[3:0];
    end

endmodule
