/** The form of a path in which it is compared: percent-decoded except for `%2F`. */
export function matchKey(path: string): string {
  return path.includes('%') ? path.replaceAll(/%([0-9a-f]{2})/gi, decodeByte) : path;
}

/** One byte per character: two spellings of one path give one key, in any encoding. */
function decodeByte(_escape: string, hex: string): string {
  return hex.toLowerCase() === '2f' ? '%2F' : String.fromCharCode(Number.parseInt(hex, 16));
}
