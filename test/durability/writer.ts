import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../src/kit/json.ts';
import type { Answer, ApiConnection } from '../support/api-connection.ts';
import type { Random } from '../support/random.ts';
import { isAsExpected, type Ledger } from './ledger.ts';
import type { PlannedWrite, Workload } from './planned-write.ts';
import { documentsIn, keyOf } from './rendered-documents.ts';
import { planWrite } from './workload.ts';

/** A create that can be repeated without creating anything new. */
export interface KeyedCreate {
  readonly write: PlannedWrite;
  readonly key: string;
  /** null: no response arrived. */
  readonly id: string | null;
}

export interface Acknowledged {
  readonly revision: number;
  readonly id: string;
}

export interface WriterLog {
  /** Writes that changed something, with the reported revision. */
  readonly acknowledged: Acknowledged[];
  readonly keyedCreates: KeyedCreate[];
  readonly problems: string[];
  /** Refusals by error code. */
  readonly refused: Map<string, number>;
}

export interface WriterOptions {
  readonly name: string;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly log: WriterLog;
}

/** The response that reports an unknown outcome. */
const UNKNOWN_OUTCOME = 'ERR_POSTERN_STORE_UNAVAILABLE';

export function newWriterLog(): WriterLog {
  return { acknowledged: [], keyedCreates: [], problems: [], refused: new Map() };
}

/** Sends one request after the other and records the responses in the ledger. */
export class Writer {
  readonly #options: WriterOptions;
  readonly #open = new Set<string>();
  #made = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Call it after the ledger was settled. */
  forgetOpen(): void {
    this.#open.clear();
  }

  /** Until stopped; while outcomes are unknown it continues slowly. */
  async run(api: ApiConnection, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const write = planWrite(this.#workload());
      const key =
        write.marker !== null && this.#options.random.isChosen(0.5) ? `key-${write.marker.replace(' ', '-')}` : null;
      const isKnown = await this.send(api, write, key);
      if (!isKnown) await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** False when the outcome is unknown. */
  async send(api: ApiConnection, write: PlannedWrite, key: string | null): Promise<boolean> {
    const headers = key === null ? {} : { 'idempotency-key': key };
    let answer: Answer;
    try {
      answer = await api.send(write.method, write.path, write.body, headers);
    } catch {
      this.#leaveOpen(write, key);
      return false;
    }
    return this.#enter(write, key, answer);
  }

  #workload(): Workload {
    const { name, ledger, random } = this.#options;
    return {
      writer: name,
      ledger,
      random,
      open: this.#open,
      newMarker: () => {
        this.#made += 1;
        return `${name} ${this.#made}`;
      },
    };
  }

  #enter(write: PlannedWrite, key: string | null, answer: Answer): boolean {
    const { log } = this.#options;
    const { status, body } = answer;
    if (status >= 200 && status < 300) {
      const id = this.#acknowledge(write, answer);
      if (key !== null) log.keyedCreates.push({ write, key, id });
      return true;
    }
    const code = String(body?.error_code ?? status);
    log.refused.set(code, (log.refused.get(code) ?? 0) + 1);
    if (code === UNKNOWN_OUTCOME) {
      this.#leaveOpen(write, key);
      return false;
    }
    if (!write.refusals.includes(code)) {
      log.problems.push(`unexpected ${status} to ${titleOf(write)}: ${JSON.stringify(body)}`);
    }
    return true;
  }

  #leaveOpen(write: PlannedWrite, key: string | null): void {
    const { ledger, log } = this.#options;
    ledger.leaveOpen({ title: titleOf(write), marker: write.marker, changes: write.changes });
    if (write.root !== null) this.#open.add(write.root);
    if (key !== null) log.keyedCreates.push({ write, key, id: null });
  }

  #acknowledge(write: PlannedWrite, { body, headers }: Answer): string {
    const { ledger, log } = this.#options;
    const createdId = write.marker === null ? null : (body.id as string);
    let isChanging = false;
    for (const { kind, id, state } of write.changes) {
      const key = keyOf(kind, id ?? createdId ?? '');
      const told = state === null ? null : (answered(write, kind, body).get(key) ?? state);
      if (!isAsExpected(told, state)) {
        log.problems.push(
          `${titleOf(write)} was answered with ${JSON.stringify(told)} instead of ${JSON.stringify(state)}`,
        );
      }
      isChanging ||= !isDeepStrictEqual(ledger.documents.get(key) ?? null, told);
      ledger.acknowledge(key, told);
    }
    const id = createdId ?? write.changes[0]?.id ?? '';
    const revision = Number(headers['postern-revision']);
    if (!Number.isSafeInteger(revision)) log.problems.push(`${titleOf(write)} was answered without a revision`);
    if (isChanging) log.acknowledged.push({ revision, id });
    return id;
  }
}

/** The documents in the response, where it shows them. */
function answered(write: PlannedWrite, kind: string, body: JsonObject | null): ReadonlyMap<string, JsonObject> {
  if (body === null) return new Map();
  if (write.method === 'PUT') return new Map([[keyOf(kind, write.changes[0]?.id ?? ''), body]]);
  const isWhole = typeof body['id'] === 'string';
  return isWhole ? documentsIn(kind.split('.')[0] ?? kind, body) : new Map();
}

export function titleOf({ method, path, body }: PlannedWrite): string {
  return `${method} ${path} ${JSON.stringify(body ?? null).slice(0, 300)}`;
}
