import { isStoreOutage } from '../../kit/error-text.ts';
import type { ConfiguredBy } from '../contract/agent-form.ts';
import type { AttemptBudgets } from '../contract/attempt-budgets.ts';
import type { Refusal, TrafficRequest } from '../contract/decides.ts';
import type { ModuleLog, SharedPorts, SharedState } from '../contract/keeps-state.ts';
import type { LoginClientId, LoginRecord, LoginRecords } from '../contract/login-store.ts';
import type { OwnIssuer } from '../contract/own-issuer.ts';
import type { OwnPathRequest, OwnPaths } from '../contract/prepared-module.ts';
import { AssertionSigner, rotateSigningKeys, type SigningKeyRecords, signingKeys } from './assertion-signer.ts';
import { storeUnavailable } from './flow/login-failures.ts';
import { OwnLoginPaths } from './flow/login-flow.ts';
import { FlowCookies } from './flow-cookies.ts';
import { issuerPorts } from './issuer-problem.ts';
import type { LoginClient } from './login-client.ts';
import type { LoginOnRoute } from './login-on-route.ts';
import type { IssuerSource } from './provider/issuer-source.ts';
import type { LoginProblem } from './provider/login-problem.ts';
import {
  fetchedIssuers,
  type IssuerSources,
  type ProviderPorts,
  Providers,
  type TenantMetadata,
  TokenIssuers,
} from './provider/providers.ts';
import { type BrowserKey, type CookieNames, SessionCookies } from './session-cookie.ts';
import { type Grant, type Session, type SessionLimits, UpstreamIdentity } from './sessions/grant.ts';
import { OrphanedLogins } from './sessions/orphaned-logins.ts';
import { type NewSession, type RecordedSession, recordSession } from './sessions/record-session.ts';
import { Activity, type PreviousKey, Sessions } from './sessions/sessions.ts';
import { TokenRefresh } from './sessions/token-refresh.ts';
import type { LoginSettings } from './settings.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_SECONDS = 86_400;
/** The store reports changes of other processes at once; this finds those whose report was lost. */
const FOLLOW_MS = 400;
/** Between two reads of changes that follow each other: many logins cost few reads. */
const FOLLOW_PAUSE_MS = 25;
const FOLLOW_PROBLEM = 'failed to read changes of logins';
const NO_GRANTS: readonly Grant[] = [];

/** Login state that outlives a version of a module's configuration. One per thread that serves traffic. */
export class LoginRuntime implements SharedState {
  readonly records: LoginRecords;
  readonly log: ModuleLog;
  readonly cookies: SessionCookies;
  readonly flows: FlowCookies;
  readonly attempts: AttemptBudgets;
  readonly sessions: Sessions;
  readonly activity: Activity;
  readonly refresh: TokenRefresh;
  readonly signer: AssertionSigner;
  readonly identity: UpstreamIdentity;
  readonly ownPaths: OwnPaths;
  readonly #ports: SharedPorts;
  /** Unused logins are deleted after this time. */
  readonly #retentionSeconds: number;
  readonly #limits: SessionLimits;
  readonly #providers: Readonly<Record<ConfiguredBy, Providers>>;
  readonly #tokenIssuers: Readonly<Record<ConfiguredBy, TokenIssuers>>;
  readonly #tenantIssuer: IssuerSources['tenantIssuer'];
  readonly #orphans: OrphanedLogins;
  readonly #looking = new Map<Grant, Promise<void>>();
  readonly #timers: (() => void)[] = [];
  readonly #signingKeys: SigningKeyRecords;
  readonly #count: (event: string) => void;
  readonly #unsubscribe: () => void;
  #seq = 0;
  #wasShared = false;
  #following: Promise<void> | null = null;
  #isBehind = false;
  #isClosed = false;

  private constructor(ports: SharedPorts, settings: LoginSettings) {
    const { clock, log, logins, network, timers } = ports;
    this.#ports = ports;
    this.#retentionSeconds = settings.login_retention_days * DAY_SECONDS;
    this.#limits = {
      inactivitySeconds: settings.login_inactivity_timeout,
      maximumSeconds: settings.login_maximum_duration,
    };
    this.records = logins;
    this.log = log;
    const { ownIssuer } = ports;
    const { operator, agent } = issuerPorts(settings, network, clock);
    const sources = (configuredBy: ConfiguredBy, own: ProviderPorts): IssuerSources =>
      logins.threads?.issuers(configuredBy) ?? fetchedIssuers(own);
    const [ofOperator, ofAgent] = [sources('operator', operator), sources('agent', agent)];
    this.#providers = {
      operator: new Providers(operator, ofOperator, ownIssuer),
      agent: new Providers(agent, ofAgent, ownIssuer),
    };
    this.#tokenIssuers = {
      operator: new TokenIssuers(operator, ofOperator),
      agent: new TokenIssuers(agent, ofAgent),
    };
    this.#tenantIssuer = (endpoint) => ofOperator.tenantIssuer(endpoint);
    this.#signingKeys = signingKeys(ports.records);
    this.#count = ports.counter({
      name: 'postern_login_events_total',
      help: 'Logins, refreshes and logouts, by result.',
      label: 'event',
    });
    this.cookies = new SessionCookies(
      (purpose, data) => ports.mac(purpose, data),
      (bytes) => ports.randomText(bytes),
    );
    this.flows = new FlowCookies(ports);
    this.attempts = ports.attempts;
    this.sessions = new Sessions(logins, this.cookies, clock, ownIssuer);
    this.activity = new Activity(logins, timers, (err) => log.error({ err }, 'failed to write the activity of logins'));
    this.refresh = new TokenRefresh({
      records: logins,
      clock,
      timers,
      log,
      count: (happening) => this.count(happening),
      outageMs: settings.login_outage_hours * HOUR_MS,
    });
    this.signer = new AssertionSigner(this.#signingKeys);
    this.identity = new UpstreamIdentity(this.signer, (issuer) =>
      settings.oidc_unverified_email_issuers.includes(issuer),
    );
    this.ownPaths = new OwnLoginPaths(this);
    this.#orphans = new OrphanedLogins(log, logins, () => ports.followed.refresh());
    const stopHearing = logins.onChanged((changes) => this.sessions.changed(changes));
    const stopForeign = logins.onForeignChange(() => {
      this.#followNow().catch((err: unknown) => isStoreOutage(err) || log.error({ err }, FOLLOW_PROBLEM));
    });
    const stopResets = logins.onReset(() => this.#readAgain());
    const stopThreads = [
      logins.threads?.onKeyReplaced((key) => this.sessions.keyReplaced(key)),
      logins.threads?.onSeenWanted((question) => this.sessions.seen(question)),
    ];
    this.#unsubscribe = () => {
      for (const stop of stopThreads) stop?.();
      stopHearing();
      stopForeign();
      stopResets();
    };
  }

  static async open(ports: SharedPorts, settings: LoginSettings): Promise<LoginRuntime> {
    const runtime = new LoginRuntime(ports, settings);
    await runtime.#begin();
    return runtime;
  }

  providersFor(configuredBy: ConfiguredBy): Providers {
    return this.#providers[configuredBy];
  }

  /** Issuers of tokens for programs, separate for the same reason. */
  tokenIssuersFor(configuredBy: ConfiguredBy): TokenIssuers {
    return this.#tokenIssuers[configuredBy];
  }

  /** Endpoints that serve the tenants of one provider. The caller keeps the result. */
  tenantIssuer(endpoint: string): IssuerSource<TenantMetadata> {
    return this.#tenantIssuer(endpoint);
  }

  /** Postern's own provider; null: it is off. */
  get ownIssuer(): OwnIssuer | null {
    return this.#ports.ownIssuer;
  }

  /** A module tells which clients an edge still has, when it is opened: the logins of others end. */
  keepClients(clientsOn: (edgeId: string) => readonly LoginClientId[]): void {
    this.#orphans.keepClients(clientsOn);
  }

  /** Stores a login that the caller has verified, and counts on its cookies being set. */
  recordSession(request: OwnPathRequest, session: NewSession): Promise<RecordedSession> {
    return recordSession(this, request, session);
  }

  /**
   * The browser's logins at an issuer on this host, for modules that admit without a provider; limits are not checked.
   */
  grantsOf(
    request: TrafficRequest,
    { edgeId, issuer }: { readonly edgeId: string; readonly issuer: string },
    names: CookieNames,
  ): readonly Grant[] | Promise<readonly Grant[]> {
    const chosen = (session: Session | null): readonly Grant[] =>
      session?.grants.filter(
        (grant) => grant.issuer === issuer && grant.edgeId === edgeId && grant.host === request.host && !grant.isEnded,
      ) ?? NO_GRANTS;
    const session = this.sessions.find(request.headerLines('cookie'), names);
    return session instanceof Promise ? session.then(chosen) : chosen(session);
  }

  /** A module's limits; where it has none, those of the server. */
  limitsOf({ inactivitySeconds, maximumSeconds }: SessionLimits): SessionLimits {
    return {
      inactivitySeconds: inactivitySeconds === 0 ? this.#limits.inactivitySeconds : inactivitySeconds,
      maximumSeconds: maximumSeconds === 0 ? this.#limits.maximumSeconds : maximumSeconds,
    };
  }

  randomText(bytes: number): string {
    return this.#ports.randomText(bytes);
  }

  newId(prefix: string): string {
    return this.#ports.newId(prefix);
  }

  count(happening: string): void {
    this.#count(happening);
  }

  loggedIn(
    edgeId: string,
    key: BrowserKey,
    records: readonly LoginRecord[],
    previous: PreviousKey | null,
  ): Promise<void> {
    this.#orphans.hasLogins(edgeId);
    return this.sessions.loggedIn(key, records, previous);
  }

  /** For the operator: details that the visitor's page does not show. */
  loginFailed(request: TrafficRequest, { config }: LoginOnRoute, problem: LoginProblem): void {
    this.count(`failed_${problem.kind}`);
    this.log.warn(
      {
        request_id: request.id,
        route: config.routeId,
        issuer: config.issuer,
        reason: problem.reason,
        problem: problem.message,
      },
      'a login failed',
    );
  }

  /** The response while the store is unavailable; any other error is rethrown. */
  storeUnavailable(request: TrafficRequest, error: unknown): { readonly refusal: Refusal } {
    if (!isStoreOutage(error)) throw error;
    this.count('store_away');
    this.log.error({ err: error, request_id: request.id }, 'the login store is unavailable');
    return storeUnavailable(request);
  }

  /** Ends an expired login, off the request's path. */
  end(grant: Grant): void {
    grant.isEnded = true;
    this.count('expired');
    this.records
      .deleteSession(grant.id)
      .catch((err: unknown) => this.log.error({ err, session: grant.id }, 'failed to delete an expired login'));
  }

  /** For requests in progress: the outcome takes effect at the next check of the permit. */
  refreshMeanwhile(grant: Grant, client: LoginClient): void {
    this.refresh
      .refresh(grant, client)
      .catch((err: unknown) => this.log.error({ err, session: grant.id }, 'failed to refresh a login'));
  }

  /** When it was last used at any thread of this process. */
  lastUseInThreads(grant: Grant): Promise<void> {
    return this.sessions.askThreads(grant);
  }

  /** When it was last used at any process. One lookup serves all callers. */
  lastUseAnywhere(grant: Grant): Promise<void> {
    let looking = this.#looking.get(grant);
    if (looking === undefined) {
      looking = this.sessions.readAgain(grant).finally(() => this.#looking.delete(grant));
      this.#looking.set(grant, looking);
    }
    return looking;
  }

  async catchUp(): Promise<void> {
    if (this.records.isShared) await this.#followNow();
  }

  edgeChanged(edgeId: string): void {
    this.#orphans.edgeChanged(edgeId);
  }

  async modulesOpened(): Promise<void> {
    await this.#orphans.open();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#timers) stop();
    this.#unsubscribe();
    // The caller has heard of a failure, and a database that is away must not keep the rest open.
    await this.#following?.catch(() => {});
    await this.#orphans.close();
    await this.activity.close();
  }

  async #begin(): Promise<void> {
    const { clock } = this.#ports;
    await rotateSigningKeys(this.#signingKeys, clock).catch((err: unknown) => {
      // A read-only store is no reason not to start while there is a key to sign with.
      if (this.#signingKeys.list().length === 0) throw err;
      this.log.error({ err }, 'failed to rotate the assertion keys');
    });
    this.#seq = await this.records.currentSeq();
    this.#every(MINUTE_MS, 'failed to delete expired logins', () => this.#tidyUp());
    this.#every(FOLLOW_MS, FOLLOW_PROBLEM, async () => {
      const { isShared } = this.records;
      // Once more after the other process is gone, for its last changes.
      if (!isShared && !this.#wasShared) return;
      await this.#followNow();
      this.#wasShared = isShared;
    });
  }

  async #tidyUp(): Promise<void> {
    const { clock } = this.#ports;
    // First: logins used within the last seconds must not count as unused.
    await this.activity.flush();
    const now = clock.nowMs();
    await this.records.prune(now, now - this.#retentionSeconds * 1000);
    // Only now: without the database, a login that is dropped from memory could not be read again.
    this.sessions.sweep();
    await rotateSigningKeys(this.#signingKeys, clock);
  }

  /** One reader at a time. A call while it reads may be about a later change: then it reads once more. */
  #followNow(): Promise<void> {
    this.#isBehind = this.#following !== null;
    this.#following ??= this.#followAll().finally(() => {
      this.#following = null;
    });
    return this.#following;
  }

  async #followAll(): Promise<void> {
    await this.#follow();
    while (this.#isBehind && !this.#isClosed) {
      this.#isBehind = false;
      await this.#ports.timers.sleep(FOLLOW_PAUSE_MS);
      await this.#follow();
    }
  }

  /** Applies changes of other processes. */
  async #follow(): Promise<void> {
    const { isComplete, seq, changes } = await this.records.changesSince(this.#seq);
    this.sessions.storeAnswers();
    if (!isComplete) await this.sessions.missedChanges();
    else if (changes.length > 0) await this.sessions.follow(changes);
    // Last: a failed step is repeated.
    this.#seq = seq;
  }

  /** Another history restarts the numbers of changes, so earlier numbers are void. */
  async #readAgain(): Promise<void> {
    const seq = await this.records.currentSeq();
    await this.sessions.missedChanges();
    this.#seq = seq;
  }

  #every(ms: number, problem: string, task: () => Promise<void>): void {
    const run = (): void => {
      // The store reports its outages itself, once.
      task().catch((err: unknown) => isStoreOutage(err) || this.log.error({ err }, problem));
    };
    this.#timers.push(this.#ports.timers.every(ms, run));
  }
}
