/** How much visitors of this node have used a tunnel. A request or connection is counted when it ends. */
export class TunnelUse {
  requests = 0;
  bytesIn = 0;
  bytesOut = 0;
  /** Streams in progress for visitors of other nodes, which count them too. */
  hopsInFlight = 0;

  ended(bytesIn: number, bytesOut: number): void {
    this.requests += 1;
    this.bytesIn += bytesIn;
    this.bytesOut += bytesOut;
  }
}
