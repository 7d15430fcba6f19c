/** A stranger's certificate may have one of 100 KB; real ones have at most some 20 bytes. */
const MAX_HEX = 128;

/** An OID in its usual form, from the contents of its DER element in hex. */
export function dottedOid(hex: string): string {
  const [first = 0, ...rest] = Buffer.from(hex.slice(0, MAX_HEX), 'hex');
  const arcs = [Math.min(Math.floor(first / 40), 2), first - 40 * Math.min(Math.floor(first / 40), 2)];
  let arc = 0;
  for (const byte of rest) {
    arc = (arc % 2 ** 40) * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  return arcs.slice(0, 20).join('.');
}
