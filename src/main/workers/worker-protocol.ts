import type { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../../config/schema.ts';
import type { EdgeDrainOptions } from '../../edge/drain-edge.ts';
import type { EdgeTallies } from '../../edge/limits/edge-tallies.ts';
import type { NewEndpoint, Publication } from '../../edge/tunnels/endpoints.ts';
import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { ListNews } from '../../lists/known-lists.ts';
import type {
  LoginChange,
  LoginRecord,
  LoginRecords,
  ReplacedKey,
  SeenQuestion,
} from '../../modules/contract/login-store.ts';
import type { IssuerAnswer, IssuerQuestion } from '../../modules/login/provider/asked-issuers.ts';
import type { Leaf, LeafRequest } from '../../pki/internal-ca.ts';
import type { Change, CommitResult, StoredRecord, WriteSet } from '../../store/store.ts';
import type { RawConnectionFacts } from '../../telemetry/facts/raw-connection-facts.ts';
import type { RequestFacts } from '../../telemetry/facts/request-facts.ts';
import type { BackendCounts } from '../../telemetry/metrics/backend-traffic.ts';
import type { RecordedRequest } from '../../telemetry/requests/recorded-request.ts';
import type { OwnAddressList } from '../../upstream/own-addresses.ts';
import type { NodeMemories } from '../data-plane/node-memories.ts';
import type { AgentOrder, AgentReports, AgentTls } from './agent-orders.ts';
import type { AttemptMethods } from './attempts-of-worker.ts';

/** What a worker knows when its thread starts. */
export interface WorkerStart {
  readonly config: Config;
  /** For ids: a worker does not load the API. */
  readonly kindsByPrefix: ReadonlyMap<string, string>;
  readonly node: string;
  /** Which one of them it is, from 0. */
  readonly index: number;
  readonly count: number;
  readonly publicPorts: { readonly https: number; readonly http: number };
  readonly own: OwnAddressList;
  /** For ticket keys that all workers have; null: they are derived from the secret key, as on other nodes. */
  readonly ticketSecret: Uint8Array | null;
  readonly secretKeys: readonly Uint8Array[];
  /** The current one. */
  readonly secretKeyId: string;
  readonly board: SharedArrayBuffer;
  /** Milliseconds between the clock of the installation and that of the machine. */
  readonly clockOffset: SharedArrayBuffer;
  readonly tallies: Readonly<Record<keyof EdgeTallies, SharedArrayBuffer>>;
  /** Requests and connections in progress of each tunnel that is in groups. */
  readonly tunnelStreams: SharedArrayBuffer;
  /** What modules share with all threads. */
  readonly nodeMemories: NodeMemories;
  readonly addressLists: readonly ListNews[];
  readonly isLogForTerminal: boolean;
  /** For its log lines. */
  readonly logPort: MessagePort;
  /** Set once it has sent all of them. */
  readonly logFlushed: SharedArrayBuffer;
  /** Open connections of visitors of each worker, then those of agents. */
  readonly connections: SharedArrayBuffer;
}

export type EdgeListenerName = 'https' | 'http';
/** `tunnel`: of agents. */
export type HandedListenerName = EdgeListenerName | 'tunnel';

export type LoginMethod = {
  [Name in keyof LoginRecords]: LoginRecords[Name] extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof LoginRecords];

/** A tunnel that is online. */
export interface ToldTunnel {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly forwardsTo: string;
  readonly sessionId: string;
}

/** What a worker does for the main thread. */
export interface WorkerMethods {
  /** Records of the replica, before `open`. */
  fill(records: readonly StoredRecord[]): void;
  /** Everything is known: resolves, with what the system calls the thread, when it can serve. */
  open(): Promise<string | null>;
  /** Its end of a connection to the main thread, for streams to agents. Resolves when they can pass. */
  link(socket: Socket): Promise<void>;
  tunnelOnline(tunnel: ToldTunnel): void;
  tunnelOffline(id: string): void;
  publish(endpoint: NewEndpoint): Promise<Publication>;
  withdraw(endpointId: string): void;
  accept(listener: HandedListenerName, socket: Socket): void;
  /** It has connections of agents from now on. `socket`: its end of a connection for streams from the main thread to them. */
  holdAgents(tls: AgentTls, socket: Socket): Promise<void>;
  agentTls(tls: AgentTls): void;
  agentDo(number: number, order: AgentOrder): void;
  agentAlive(number: number, withinMs: number): Promise<boolean>;
  /** A part of many changes, which take effect together with the rest in `show`. */
  gather(changes: readonly Change[]): void;
  /** The worker answers with `served` and the same number. */
  show(number: number, changes: readonly Change[]): void;
  /** Another table of a list, in shared memory. */
  addressList(news: ListNews): void;
  /** Nobody needs its table: workers would keep the memory. */
  forgetAddressList(id: string): void;
  loginsChanged(changes: readonly LoginChange[]): void;
  loginsForeign(): void;
  loginsReset(): Promise<void>;
  keyReplaced(key: ReplacedKey): void;
  /** What it has in memory. */
  seenLogins(question: SeenQuestion): readonly LoginRecord[];
  useSecretKey(keyId: string): void;
  ownAddresses(own: OwnAddressList): void;
  /** Metrics as prom-client exports them. */
  metrics(): Promise<unknown>;
  ask(question: JsonObject): Promise<JsonObject>;
  /** Resolves when it serves everything that it was shown before. */
  settled(): Promise<void>;
  /** Whether somebody follows requests as they finish. */
  watch(isWatched: boolean): void;
  ping(): void;
  /** Sends buffered log lines, and sets `logFlushed`. */
  flushLog(): void;
  /** Visitors leave. Agents stay: requests of other nodes may need them. */
  drain(timeoutMs: number, how: EdgeDrainOptions | undefined): Promise<void>;
  /** The thread is about to end. */
  leave(): Promise<void>;
}

/** What the main thread does for a worker. */
export interface MainMethods extends AttemptMethods, AgentReports {
  served(number: number): void;
  /** Its connection for streams to agents has ended: it gets another by `link`. */
  unlinked(): void;
  commit(writeSet: WriteSet): Promise<CommitResult>;
  refresh(): Promise<void>;
  catchUp(): Promise<void>;
  moduleEvent(type: string, object: JsonObject): void;
  login(method: LoginMethod, args: readonly unknown[]): Promise<unknown>;
  /** Tells all workers. */
  keyReplaced(key: ReplacedKey): void;
  /** Asks all workers. */
  seenLogins(question: SeenQuestion): Promise<readonly LoginRecord[]>;
  /** About what an issuer publishes. */
  askIssuer(question: IssuerQuestion): Promise<IssuerAnswer>;
  mintLeaf(request: LeafRequest): Promise<Leaf>;
  finished(requests: readonly RequestFacts[]): void;
  connectionClosed(id: string, facts: RawConnectionFacts): void;
  backends(counts: readonly BackendCounts[]): void;
  watched(requests: readonly RecordedRequest[]): void;
  /** A request for the host of Postern's own OpenID provider. */
  serveOwnHost(request: WholeRequest): Promise<WholeAnswer>;
}
