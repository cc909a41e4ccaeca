// SPDX-License-Identifier: Apache-2.0
//
// byte_count: counts the valid bytes of a beat, from tkeep.
//
// In:  keep, ones from bit 0 on without a hole (what follows a hole does not count).
// Out: bytes, 0 to 8.
// Latency: none (combinational).

module byte_count (
    input  logic [7:0] keep,
    output logic [3:0] bytes
);

    always_comb begin
        casez (keep)
            8'b11111111: bytes = 4'd8;
            8'b01111111: bytes = 4'd7;
            8'b?0111111: bytes = 4'd6;
            8'b??011111: bytes = 4'd5;
            8'b???01111: bytes = 4'd4;
            8'b????0111: bytes = 4'd3;
            8'b?????011: bytes = 4'd2;
            8'b??????01: bytes = 4'd1;
            default:     bytes = 4'd0;
        endcase
    end

endmodule
