import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { isJsonObject } from '../../lib/json.ts';
import { type AnsweringNode, type AskedNode, askedNodes, type OtherNodes } from '../other-nodes.ts';
import { type RequestDocument, requestDocument } from './request-document.ts';
import { filterFrom, type RequestFilter } from './request-filter.ts';
import type { RequestHistory } from './request-history.ts';

export interface FoundRequests {
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

  constructor(history: RequestHistory, questions: OtherNodes) {
    this.#history = history;
    this.#questions = questions;
    questions.answer(FIND, ({ id }) => ({ request: typeof id === 'string' ? this.#ownRequest(id) : null }));
    questions.answer(LIST, (question) => ({ requests: this.#ownRequests(filterFrom(question), limitOf(question)) }));
  }

  /** The nodes are those that were asked: none if this one has it. */
  async find(id: string): Promise<FoundRequests> {
    const own = this.#ownRequest(id);
    if (own !== null) return { requests: [own], nodes: [] };
    const answers = await this.#questions.askOthers({ kind: FIND, id });
    const found = answers.flatMap(({ answer }) => (isRequest(answer?.['request']) ? [answer['request']] : []));
    return { requests: found.slice(0, 1), nodes: askedNodes(this.#questions, answers) };
  }

  async list(filter: RequestFilter, limit: number): Promise<FoundRequests> {
    const answers = await this.#questions.askOthers({ kind: LIST, limit, ...filter });
    const all = [...this.#ownRequests(filter, limit), ...answers.flatMap(requestsIn)];
    all.sort((one, other) => (one.id < other.id ? 1 : -1));
    return { requests: all.slice(0, limit), nodes: askedNodes(this.#questions, answers) };
  }

  /** Without those of this node; newest first for each node. */
  async ofOthers(filter: RequestFilter, limit: number): Promise<readonly RequestDocument[]> {
    return (await this.#questions.askOthers({ kind: LIST, limit, ...filter })).flatMap(requestsIn);
  }

  #ownRequest(id: string): RequestDocument | null {
    const request = this.#history.find(id);
    return request === undefined ? null : requestDocument(request, this.#questions.ownName);
  }

  #ownRequests(filter: RequestFilter, limit: number): readonly RequestDocument[] {
    return this.#history.list(filter, limit).map((request) => requestDocument(request, this.#questions.ownName));
  }
}

function requestsIn({ answer }: AnsweringNode): readonly RequestDocument[] {
  const requests = answer?.['requests'];
  return Array.isArray(requests) ? (requests as readonly JsonValue[]).filter(isRequest) : [];
}

function limitOf({ limit }: JsonObject): number {
  return typeof limit === 'number' && limit >= 1 && limit <= MAX_LIMIT ? limit : MAX_LIMIT;
}

function isRequest(value: JsonValue | undefined): value is RequestDocument {
  return isJsonObject(value) && typeof value['id'] === 'string';
}
