import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { accepts } from '../lib/http/accepted-value.ts';

const compressed = promisify(gzip);

/** Shorter texts gain nothing. */
const MIN_CHARACTERS = 1024;
/** Longer ones would hold a thread for too long. */
const MAX_CHARACTERS = 8_388_608;
/** Files and DNS use the same four threads. */
const MAX_AT_A_TIME = 2;
/** 6 takes twice as long for a tenth less. */
const LEVEL = 4;

/** Compresses texts off the event loop. While enough others are being compressed, a response is sent as it is. */
export class GzipResponses {
  #running = 0;

  /** Null: the text is sent as it is. Never rejects. */
  async compress(text: string, headers: IncomingHttpHeaders): Promise<Buffer | null> {
    if (text.length < MIN_CHARACTERS || text.length > MAX_CHARACTERS || this.#running >= MAX_AT_A_TIME) return null;
    if (!accepts(headers['accept-encoding'] as string | undefined, 'gzip')) return null;
    this.#running += 1;
    try {
      return await compressed(text, { level: LEVEL });
    } catch {
      return null;
    } finally {
      this.#running -= 1;
    }
  }
}
