const BEGIN = '-----BEGIN ';
const END = '-----END ';
const DASHES = '-----';
/** Well above the bundle of public roots that systems ship (about 150 certificates in 230 KB). */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_BLOCKS = 1000;
/** Encoders write 64 characters per line, so that the longest text has half as many. */
const MAX_LINES = 131_072;
/** Lines between two pauses: well below a millisecond. */
const STEP = 1024;

export interface PemBlock {
  readonly label: string;
  readonly lines: readonly string[];
}

/**
 * The blocks of a PEM text (RFC 7468), found line by line in linear time. Text outside of blocks is skipped, as
 * `openssl x509 -text` writes it. Such text must never reach the certificate library: its regular expression takes
 * exponential time (12 lines of an encapsulated header: 20 s).
 */
export function pemBlocks(text: string, maxBlocks = MAX_BLOCKS): readonly PemBlock[] {
  const scanning = scanPem(text, maxBlocks);
  for (;;) {
    const step = scanning.next();
    if (step.done === true) return step.value;
  }
}

/** The same in steps, for texts of strangers: 4 MB of empty lines would take a second in one go. */
export function* scanPem(text: string, maxBlocks = MAX_BLOCKS): Generator<void, readonly PemBlock[]> {
  if (text.length > MAX_CHARACTERS) throw new Error(`it has more than ${MAX_CHARACTERS} characters`);
  const blocks: PemBlock[] = [];
  let open: { label: string; lines: string[] } | null = null;
  // Windows editors start a file with a byte order mark, and OpenSSL skips it.
  let at = text.startsWith('\ufeff') ? 1 : 0;
  for (let count = 1; at <= text.length; count += 1) {
    if (count > MAX_LINES) throw new Error(`it has more than ${MAX_LINES} lines`);
    if (count % STEP === 0) yield;
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? text.length : end).trimEnd();
    at = end === -1 ? text.length + 1 : end + 1;
    if (open === null) {
      open = opened(line);
    } else if (line === `${END}${open.label}${DASHES}`) {
      blocks.push(open);
      open = null;
      if (blocks.length > maxBlocks) throw new Error(`it has more than ${maxBlocks} PEM blocks`);
    } else if (line.includes(DASHES)) {
      throw new Error(`its "${shown(open.label)}" block does not end with a line of its own`);
    } else {
      open.lines.push(line);
    }
  }
  if (open !== null) throw new Error(`its "${shown(open.label)}" block does not end`);
  return blocks;
}

/** Strict: no encapsulated headers, only base64 as an encoder writes it. One empty line may follow the first. */
export function derOf({ label, lines }: PemBlock): Buffer {
  const base64 = lines.join('');
  const der = Buffer.from(base64, 'base64');
  if (lines.lastIndexOf('') > 0 || der.length === 0 || der.toString('base64') !== base64) {
    throw new Error(`its "${shown(label)}" block is not base64`);
  }
  return der;
}

function opened(line: string): { label: string; lines: string[] } | null {
  if (!line.includes(BEGIN)) return null;
  const label = line.slice(BEGIN.length, -DASHES.length);
  if (!line.startsWith(BEGIN) || !line.endsWith(DASHES) || label === '' || label.includes('-')) {
    throw new Error('its "-----BEGIN" is not on a line of its own');
  }
  return { label, lines: [] };
}

/** The message may reach a log or an API client. */
function shown(label: string): string {
  return label.slice(0, 40);
}
