import { extname } from 'node:path';
import { readProgramBytes } from '../../lib/program-files.ts';

const FOLDER = '../console/dist';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
};
/** The smallest first. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Precompressed, by the name in Content-Encoding, the smallest first. */
  readonly encoded: ReadonlyMap<string, Buffer>;
}

/**
 * The built page, in memory: about half a megabyte. Only files that the manifest names are served, so no request can
 * reach another one.
 */
export class ConsoleFiles {
  readonly #read: (path: string) => Buffer | null;
  #files: ReadonlyMap<string, ConsoleFile> | null = null;

  constructor(read: (path: string) => Buffer | null = (path) => readProgramBytes(`${FOLDER}/${path}`)) {
    this.#read = read;
  }

  /** By path below the folder; null while the console is not built. It is looked for again until it is there. */
  get all(): ReadonlyMap<string, ConsoleFile> | null {
    this.#files ??= this.#load();
    return this.#files;
  }

  #load(): ReadonlyMap<string, ConsoleFile> | null {
    const manifest = this.#read('manifest.json');
    if (manifest === null) return null;
    const { files } = JSON.parse(manifest.toString()) as { files: readonly string[] };
    const bytes = new Map<string, Buffer>();
    for (const path of files) {
      const found = this.#read(path);
      // A build is replacing it: the next request looks again.
      if (found === null) return null;
      bytes.set(path, found);
    }
    const isEncoded = (path: string): boolean => ENCODINGS.some(({ suffix }) => path.endsWith(suffix));
    return new Map(
      [...bytes]
        .filter(([path]) => !isEncoded(path))
        .map(([path, plain]) => [
          path,
          { type: TYPES[extname(path)] ?? 'application/octet-stream', bytes: plain, encoded: encodedOf(path, bytes) },
        ]),
    );
  }
}

function encodedOf(path: string, bytes: ReadonlyMap<string, Buffer>): ReadonlyMap<string, Buffer> {
  return new Map(
    ENCODINGS.flatMap(({ name, suffix }) => {
      const found = bytes.get(path + suffix);
      return found === undefined ? [] : [[name, found] as const];
    }),
  );
}
