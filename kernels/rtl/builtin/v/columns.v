// verilator lint_off WIDTH
// Cuts a stream of rows into columns of ROWS pixels above each other, for
// kernels that look at a window. Each row gives one step for each of its bytes
// and REACH·channels steps more, in which no byte is taken, so that a window
// can run out over the end of the row. Everything moves only while go is set.
module columns #(parameter ROWS = 3, parameter REACH = 1, parameter MAXROW = 8192) (
  input wire aclk, input wire aresetn, input wire go,
  input wire [31:0] row, input wire [2:0] channels, // bytes of a row, bytes of a pixel
  input wire [7:0] s_tdata, input wire s_tvalid, output wire s_tready, input wire s_tlast,
  output reg step,               // a column comes
  output reg fresh,              // it is a new one; else the row has ended
  output reg [8*ROWS-1:0] column, // the newest row in the low byte
  output reg head,               // of the first pixel of the row
  output reg emit,               // the window around an earlier column is complete
  output reg closes               // and it is the last of the job
);
  localparam BITS = $clog2(MAXROW);
  localparam ABOVE = ROWS - 1;
  reg [31:0] at;   // step of the row
  reg [3:0] rows;  // begun so far, up to ROWS
  reg ending;      // the last byte of the job was taken
  wire [31:0] extra = REACH * channels;
  wire flushing = at != 0 && at >= row; // before the first byte row may not be written yet
  assign s_tready = go && aresetn && !flushing && !ending;
  wire take = s_tvalid && s_tready;
  wire moves = take || (go && flushing);
  wire last = at == row + extra - 1;

  // One memory of as many rows as there are above, read a step before use.
  reg [8*ABOVE-1:0] lines [0:MAXROW-1];
  reg [8*ABOVE-1:0] read;
  reg [7:0] pixel;
  reg [BITS-1:0] place;
  reg taken, flushed, first, full, closing;
  wire [8*ROWS-1:0] now = {read, pixel};

  always @(posedge aclk)
    if (!aresetn) begin
      at <= 0; rows <= 0; ending <= 0; taken <= 0; flushed <= 0; step <= 0; emit <= 0; closes <= 0;
    end else if (go) begin
      taken <= take;
      flushed <= moves && !take;
      if (moves) begin
        at <= last ? 0 : at + 1;
        if (last) begin
          ending <= 0;
          if (rows != ROWS) rows <= rows + 1;
        end
        if (take && s_tlast) ending <= 1;
      end
      if (take) begin
        pixel <= s_tdata;
        place <= at[BITS-1:0];
        // The column that is written just now is not in the memory yet.
        read <= taken && place == at[BITS-1:0] ? now[8*ABOVE-1:0] : lines[at[BITS-1:0]];
      end
      first <= at < {29'd0, channels};
      full <= rows >= ABOVE && at >= extra;
      closing <= ending && last;

      step <= taken || flushed;
      fresh <= taken;
      column <= now;
      head <= first;
      emit <= (taken || flushed) && full;
      closes <= closing;
    end
  always @(posedge aclk) if (go && taken) lines[place] <= now[8*ABOVE-1:0];
`ifndef SYNTHESIS
  always @(posedge aclk) if (aresetn && row > MAXROW && s_tvalid) $fatal(1, "rows of %0d bytes, the kernel is made for %0d", row, MAXROW);
`endif
endmodule
