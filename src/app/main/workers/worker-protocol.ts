import type { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { AttemptBudgets, BegunAttempt, SpendableState } from '../../../modules/contract/attempt-budgets.ts';
import type {
  LoginChange,
  LoginRecord,
  LoginRecords,
  ReplacedKey,
  SeenQuestion,
} from '../../../modules/contract/login-store.ts';
import type { Attempt, Callback, TooManyAttempts } from '../../../modules/login/flow/login-attempts.ts';
import type { PasswordClaim, PasswordVerdict } from '../../../modules/login/password-checks.ts';
import type { IssuerAnswer, IssuerQuestion } from '../../../modules/login/provider/providers.ts';
import type { EdgeTallies } from '../../../proxy/edge/admission.ts';
import type { EdgeDrainOptions } from '../../../proxy/edge/drain-edge.ts';
import type { NewEndpoint, Publication } from '../../../proxy/edge/tunnels/endpoints.ts';
import type { ListNews } from '../../../proxy/lists/known-lists.ts';
import type { LeafCertificate, LeafCertificateRequest } from '../../../proxy/pki/internal-ca.ts';
import type { BackendCounts } from '../../../proxy/telemetry/metrics/backend-traffic.ts';
import type { RecordedRequest } from '../../../proxy/telemetry/requests/recorded-request.ts';
import type { RawConnectionFacts, RequestFacts } from '../../../proxy/telemetry/traffic-facts.ts';
import type { OwnAddressList } from '../../../proxy/upstream/upstream-guard.ts';
import type { Change, CommitResult, StoredRecord, WriteSet } from '../../../store/store.ts';
import type { AgentMessage, GatewayMessage } from '../../../tunnel/protocol/messages.ts';
import type { Config } from '../../settings/schema.ts';
import type { NodeMemories } from '../data-plane/module-runtimes.ts';

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
  readonly sharedStatus: SharedArrayBuffer;
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
  /** The worker's end of a connection to the main thread, for streams to agents. Resolves when they can pass. */
  link(socket: Socket): Promise<void>;
  tunnelOnline(tunnel: ToldTunnel): void;
  tunnelOffline(id: string): void;
  publish(endpoint: NewEndpoint): Promise<Publication>;
  withdraw(endpointId: string): void;
  accept(listener: HandedListenerName, socket: Socket): void;
  /**
   * The worker has connections of agents from now on. `socket`: its end of a connection for streams from the main
   * thread to them.
   */
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
  /** The worker's connection for streams to agents has ended: it gets another by `link`. */
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
  mintLeaf(request: LeafCertificateRequest): Promise<LeafCertificate>;
  finished(requests: readonly RequestFacts[]): void;
  connectionClosed(id: string, facts: RawConnectionFacts): void;
  backends(counts: readonly BackendCounts[]): void;
  watched(requests: readonly RecordedRequest[]): void;
  /** A request for the host of Postern's own OpenID provider. */
  serveOwnHost(request: WholeRequest): Promise<WholeAnswer>;
}

/** What the main thread asks a worker to do with the connection of an agent. */
export type AgentOrder =
  | { readonly do: 'greeted' | 'close' | 'drain' | 'sendAway' | 'retire' }
  | { readonly do: 'send'; readonly message: GatewayMessage }
  | { readonly do: 'refuse'; readonly code: string; readonly message: string; readonly retry: boolean }
  | { readonly do: 'fail'; readonly reason: string }
  | { readonly do: 'belong'; readonly sessionId: string; readonly isHome: boolean };

/** How workers shake hands with agents. */
export interface AgentTls {
  readonly cert: string;
  readonly key: string;
  /** Names for which a certificate from an ACME server comes first. */
  readonly managedNames: readonly string[];
}

/** What a worker says about connections of agents that it has. Each has a number. */
export interface AgentReports {
  /** TLS is established. */
  agentArrived(number: number, remoteAddress: string): void;
  agentSaid(number: number, message: AgentMessage): void;
  /** `reason` is null when the agent left cleanly. */
  agentClosed(number: number, reason: string | null): void;
  /** Streams in progress, once the connection drains. */
  agentActive(number: number, active: number): void;
}

/** An attempt on its way to a worker: its number. */
type NumberedAttempt = number | TooManyAttempts | null;

type AttemptOutcome = keyof Attempt;

/** What a worker asks the main thread about attempts. */
interface AttemptMethods {
  redeem(callback: Callback, state: SpendableState): Promise<NumberedAttempt>;
  guess(callback: Callback): Promise<NumberedAttempt>;
  checkPassword(claim: PasswordClaim): Promise<PasswordVerdict>;
  endAttempt(number: number, outcome: AttemptOutcome): void;
}

/** For one worker. If it ends, the attempts that it has begun stay taken, as if they had failed. */
export function attemptsOfWorker(budgets: AttemptBudgets): AttemptMethods {
  const begun = new Map<number, Attempt>();
  let last = 0;
  const numbered = (attempt: BegunAttempt | null): NumberedAttempt => {
    if (attempt === null || 'limit' in attempt) return attempt;
    last += 1;
    begun.set(last, attempt);
    return last;
  };
  return {
    redeem: async (callback, state) => numbered(await budgets.redeem(callback, state)),
    guess: async (callback) => numbered(await budgets.guess(callback)),
    checkPassword: async (claim) => budgets.checkPassword(claim),
    endAttempt: (number, outcome) => {
      begun.get(number)?.[outcome]();
      begun.delete(number);
    },
  };
}

/** The budgets of the main thread, for a worker. */
export function remoteBudgets(main: AttemptMethods): AttemptBudgets {
  const attemptOf = (begun: NumberedAttempt): BegunAttempt | null => {
    if (typeof begun !== 'number') return begun;
    return {
      succeeded: () => main.endAttempt(begun, 'succeeded'),
      failed: () => main.endAttempt(begun, 'failed'),
      unused: () => main.endAttempt(begun, 'unused'),
    };
  };
  return {
    redeem: async (callback, state) => attemptOf(await main.redeem(callback, state)),
    guess: async (callback) => attemptOf(await main.guess(callback)) as BegunAttempt,
    checkPassword: (claim) => main.checkPassword(claim),
  };
}
