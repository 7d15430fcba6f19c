import { StringDecoder } from 'node:string_decoder';

/** Splits a stream into lines of bounded length. */
export class LineReader {
  readonly #maxLength: number;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  isTooLong = false;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The lines that are complete, without empty ones. */
  read(chunk: Buffer): readonly string[] {
    if (this.isTooLong) return [];
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    this.isTooLong = this.#rest.length > this.#maxLength;
    return lines.map((line) => line.trim()).filter((line) => line !== '');
  }
}
