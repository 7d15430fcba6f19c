import type { Clock } from '../../../kit/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { type AskedNode, askedNodes, NO_THREADS, type OtherNodes, type OwnThreads } from '../other-nodes.ts';
import { type RequestDocument, requestDocument } from './request-document.ts';
import { filteredFrom, filterFrom, matches, type RequestFilter } from './request-filter.ts';
import type { RequestHistory } from './request-history.ts';

interface FoundRequests {
  /** Newest first. */
  readonly requests: readonly RequestDocument[];
  readonly nodes: readonly AskedNode[];
}

const FIND = 'requests.find';
const LIST = 'requests.list';
const MAX_LIMIT = 101;

/** The requests of all nodes: each keeps its own, and is asked for them. */
export class InstallationRequests {
  readonly #history: RequestHistory;
  readonly #questions: OtherNodes;
  readonly #threads: OwnThreads;
  /** Requests of the process before this one, newest first. */
  #earlier: readonly RequestDocument[] = [];

  constructor(history: RequestHistory, questions: OtherNodes, threads: OwnThreads = NO_THREADS) {
    this.#history = history;
    this.#questions = questions;
    this.#threads = threads;
    questions.answer(FIND, async ({ id }) => ({ request: typeof id === 'string' ? await this.#ownRequest(id) : null }));
    questions.answer(LIST, async (question) => ({
      requests: await this.#ownRequests(filterFrom(question), limitOf(question)),
    }));
  }

  /** The nodes are those that were asked: none if this one has it. */
  async find(id: string): Promise<FoundRequests> {
    const own = await this.#ownRequest(id);
    if (own !== null) return { requests: [own], nodes: [] };
    const answers = await this.#questions.askOthers({ kind: FIND, id });
    const found = answers.flatMap(({ answer }) => (isRequest(answer?.['request']) ? [answer['request']] : []));
    return { requests: found.slice(0, 1), nodes: askedNodes(this.#questions, answers) };
  }

  async list(filter: RequestFilter, limit: number): Promise<FoundRequests> {
    const [answers, own] = await Promise.all([
      this.#questions.askOthers({ kind: LIST, limit, ...filter }),
      this.#ownRequests(filter, limit),
    ]);
    const all = newestFirst([...own, ...answers.flatMap(({ answer }) => requestsIn(answer))]);
    return { requests: all.slice(0, limit), nodes: askedNodes(this.#questions, answers) };
  }

  /** Takes the requests of an earlier process of this node. They stay until as many new ones are kept. */
  keepEarlier(requests: readonly JsonObject[]): void {
    this.#earlier = newestFirst(requests.filter(isRequest));
  }

  /** Requests of this node, newest first, page by page: its threads answer with few at a time. */
  async ownList(filter: RequestFilter, limit: number): Promise<readonly RequestDocument[]> {
    const found: RequestDocument[] = [];
    for (let before = filter; found.length < limit; ) {
      const page = await this.#ownRequests(before, MAX_LIMIT);
      found.push(...page);
      const last = page.at(-1);
      if (page.length < MAX_LIMIT || last === undefined) break;
      before = { ...filter, beforeId: last.id };
    }
    return found.slice(0, limit);
  }

  /** Without those of this node; newest first for each node. */
  async ofOthers(filter: RequestFilter, limit: number): Promise<readonly RequestDocument[]> {
    return (await this.#questions.askOthers({ kind: LIST, limit, ...filter })).flatMap(({ answer }) =>
      requestsIn(answer),
    );
  }

  async #ownRequest(id: string): Promise<RequestDocument | null> {
    const request = this.#history.find(id);
    if (request !== undefined) return requestDocument(request, this.#questions.ownName);
    const answers = await this.#threads.ask({ kind: FIND, id });
    const found = answers.map((answer) => answer['request']).find(isRequest);
    return found ?? this.#earlier.find((earlier) => earlier.id === id) ?? null;
  }

  async #ownRequests(filter: RequestFilter, limit: number): Promise<readonly RequestDocument[]> {
    const kept = this.#history.list(filter, limit);
    const own = kept.map((request) => requestDocument(request, this.#questions.ownName));
    const answers = await this.#threads.ask({ kind: LIST, limit, ...filter });
    // A full history has no place for older ones.
    if (this.#earlier.length > 0 && this.#history.isFull) this.#earlier = [];
    const earlier = this.#earlier.filter((each) => matches(filteredFrom(each), filter)).slice(0, limit);
    if (answers.length === 0 && earlier.length === 0) return own;
    return newestFirst([...own, ...answers.flatMap(requestsIn), ...earlier]).slice(0, limit);
  }
}

function newestFirst(requests: RequestDocument[]): readonly RequestDocument[] {
  return requests.sort((one, other) => (one.id < other.id ? 1 : -1));
}

function requestsIn(answer: JsonObject | null): readonly RequestDocument[] {
  const requests = answer?.['requests'];
  return Array.isArray(requests) ? (requests as readonly JsonValue[]).filter(isRequest) : [];
}

function limitOf({ limit }: JsonObject): number {
  return typeof limit === 'number' && limit >= 1 && limit <= MAX_LIMIT ? limit : MAX_LIMIT;
}

function isRequest(value: JsonValue | undefined): value is RequestDocument {
  return isJsonObject(value) && typeof value['id'] === 'string';
}

interface IdentifiedRequest extends JsonObject {
  readonly id: string;
}

/** Overlap of two questions: requests reach a node's history a moment after they end, and clocks differ. */
const OVERLAP_MS = 2_000;
const MAX_KNOWN = 2_000;

/** Asks the other nodes for the requests that they have finished since the last time. */
export class OthersRequests {
  readonly #list: (sinceMs: number) => Promise<readonly IdentifiedRequest[]>;
  readonly #clock: Clock;
  readonly #known = new Set<string>();
  #sinceMs = 0;

  /** `list`: requests of other nodes that finished at this time or later, newest first. */
  constructor(list: (sinceMs: number) => Promise<readonly IdentifiedRequest[]>, clock: Clock) {
    this.#list = list;
    this.#clock = clock;
  }

  /** Oldest first. After a pause, nothing from before it. */
  async next(): Promise<readonly IdentifiedRequest[]> {
    const nowMs = this.#clock.nowMs();
    const sinceMs = Math.max(this.#sinceMs, nowMs - OVERLAP_MS * 2);
    this.#sinceMs = nowMs - OVERLAP_MS;
    const fresh = (await this.#list(sinceMs)).filter(({ id }) => !this.#known.has(id));
    for (const { id } of fresh) this.#known.add(id);
    for (const id of this.#known) {
      if (this.#known.size <= MAX_KNOWN) break;
      this.#known.delete(id);
    }
    return fresh.toReversed();
  }
}
