import { setTimeout as sleep } from 'node:timers/promises';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { importErrors } from '../errors.ts';
import { MAX_INPUT_BYTES } from '../read-input.ts';

export interface RetiredApiOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Called after every page. */
  readonly onPage: (path: string, count: number) => void;
  /** Milliseconds before the first retry; doubled each time. */
  readonly retryMs?: number;
}

const TRIES = 6;
const TIMEOUT_MS = 60_000;
const MAX_WAIT_MS = 60_000;
const MAX_PAGES = 10_000;

/** Reads lists of the retired API. The key is sent to the base URL only, whatever a page refers to. */
export class RetiredApi {
  readonly #options: RetiredApiOptions;

  constructor(options: RetiredApiOptions) {
    this.#options = options;
  }

  /** All pages: a part of the rules of a policy could let more people in. Null when the API has no such list. */
  async list(path: string, listKey: string): Promise<readonly JsonObject[] | null> {
    const items: JsonObject[] = [];
    const seen = new Set<string>();
    let next: string | null = `${path}?limit=100`;
    while (next !== null) {
      if (seen.has(next) || seen.size >= MAX_PAGES) throw sourceError(path, 'its pages do not end');
      seen.add(next);
      const page: JsonObject | null = await this.#page(next);
      if (page === null && seen.size === 1) return null;
      next = page === null ? null : nextPath(path, page['next_page_uri']);
      const found: JsonValue = page?.[listKey] ?? null;
      const isEmpty = page !== null && page[listKey] === null && items.length === 0 && next === null;
      if (!isEmpty && !(Array.isArray(found) && found.every((each) => isJsonObject(each))))
        throw sourceError(
          path,
          `page ${seen.size} has no list "${listKey}": without it, a part of the list would be missing`,
        );
      items.push(...((found ?? []) as readonly JsonObject[]));
      this.#options.onPage(path, items.length);
    }
    return items;
  }

  async #page(path: string): Promise<JsonObject | null> {
    for (let tries = 1; ; tries += 1) {
      const { response, text } = await this.#fetch(path, tries);
      if (response !== null) {
        const { status } = response;
        if (status === 200) return parsed(path, text);
        if (status === 404 || status === 410) return null;
        if (status === 401 || status === 403) throw sourceError(path, `the API key is rejected (${status})`);
        if (status !== 429 && status < 500) throw sourceError(path, `answered ${status}`);
        if (tries === TRIES) throw sourceError(path, `answered ${status}, ${TRIES} times`);
      }
      await sleep(this.#waitMs(response, tries));
    }
  }

  async #fetch(path: string, tries: number): Promise<{ readonly response: Response | null; readonly text: string }> {
    const { baseUrl, apiKey } = this.#options;
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        headers: { accept: 'application/json', authorization: `Bearer ${apiKey}`, 'ngrok-version': '2' },
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { response, text: await boundedText(response, path) };
    } catch (error) {
      if (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_POSTERN')) throw error;
      // fetch says why in the cause, without the key.
      if (tries === TRIES) throw sourceError(path, `cannot be reached: ${reasonOf(error)}`);
      return { response: null, text: '' };
    }
  }

  #waitMs(response: Response | null, tries: number): number {
    const after = Number(response?.headers.get('retry-after') ?? Number.NaN);
    const ms = Number.isFinite(after) ? after * 1_000 : (this.#options.retryMs ?? 1_000) * 2 ** (tries - 1);
    return Math.min(MAX_WAIT_MS, ms);
  }
}

/** Only the query of the next page is used. */
function nextPath(path: string, uri: JsonValue | undefined): string | null {
  if (uri === undefined || uri === null || uri === '') return null;
  if (typeof uri !== 'string' || !URL.canParse(uri, 'https://localhost'))
    throw sourceError(path, 'next_page_uri is no address');
  return `${path}${new URL(uri, 'https://localhost').search}`;
}

async function boundedText(response: Response, path: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of response.body ?? []) {
    total += chunk.length;
    if (total > MAX_INPUT_BYTES) throw sourceError(path, 'the answer is larger than 64 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(path: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw sourceError(path, 'the answer is not a JSON object: check --base-url');
}

function sourceError(path: string, problem: string): Error {
  return importErrors.create('ERR_POSTERN_IMPORT_SOURCE', `GET ${path.split('?')[0]}: ${problem}`);
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { readonly cause?: unknown; readonly message?: string };
  return cause instanceof Error ? cause.message || cause.name : (message ?? 'no answer');
}
