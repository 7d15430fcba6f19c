/** The date that `npm pack` gives all files: the day of the build would make each build another. */
const MODIFIED_S = Date.UTC(1985, 9, 26, 8, 15) / 1000;
const BLOCK_BYTES = 512;
const MAX_NAME_BYTES = 100;
const MAX_PREFIX_BYTES = 155;

export interface TarFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
}

/** The files as a tar archive (POSIX ustar), the same for the same files: sorted, owned by root, with one date. */
export function tarArchive(files: readonly TarFile[]): Buffer {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const entries = sorted.flatMap((file) => [header(file), file.bytes, padding(file.bytes.length)]);
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function header({ path, bytes, isExecutable }: TarFile): Buffer {
  const { prefix, name } = splitPath(path);
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0);
  block.write(octal(isExecutable ? 0o755 : 0o644, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(bytes.length, 11), 124);
  block.write(octal(MODIFIED_S, 11), 136);
  // The checksum counts its own field as spaces.
  block.write(' '.repeat(8), 148);
  block.write('0', 156);
  block.write('ustar\u000000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

function splitPath(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= MAX_NAME_BYTES) return { prefix: '', name: path };
  const slash = path.indexOf('/', path.length - MAX_NAME_BYTES - 1);
  const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
  if (slash < 0 || Buffer.byteLength(prefix) > MAX_PREFIX_BYTES || Buffer.byteLength(name) > MAX_NAME_BYTES)
    throw new Error(`${path} is too long for a tar archive`);
  return { prefix, name };
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function padding(length: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (length % BLOCK_BYTES)) % BLOCK_BYTES);
}
