import type { Socket } from 'node:net';
import { type ArrivedClient, peerOf } from '../../../kit/net/arriving-clients.ts';
import type { Snapshots } from '../../snapshot/snapshots.ts';
import type { EdgeMetrics } from '../../telemetry/metrics/edge-metrics.ts';
import type { AdmissionLimit } from '../admission.ts';
import { NO_TRANSPORT_SECURITY, strictTransportSecurity } from '../answers/strict-transport-security.ts';
import { answerVacant, type VacantNames } from '../answers/vacant-names.ts';
import {
  type ClientAddresses,
  type ConnectionFacts,
  currentFacts,
  onPlainHost,
  plainFacts,
} from '../connections/connection-facts.ts';
import type { EdgeRuntime } from '../edge-runtime.ts';
import type { EdgeSettings } from '../edge-settings.ts';
import { serveRequest } from '../exchange/exchange.ts';
import { type EarlyAnswers, OverloadRefusals } from '../forwarding/early-answers.ts';
import { HttpServers } from '../http/http-servers.ts';
import type { IncomingRequest } from '../http/incoming-request.ts';
import type { HeadRules, RequestHead } from '../http/request-head.ts';
import type { HeldResponse } from '../http/stalled-responses.ts';
import type { UnsentResponse } from '../http/unread-bodies.ts';
import type { UnknownNames } from '../reports/request-reports.ts';
import type { EdgeLoad } from '../serving-runtime.ts';
import type { AcmeChallenges } from '../tls/acme-challenges.ts';
import type { EdgeConnection, TlsLog } from '../tls/tls-ports.ts';
import type { PublicPorts } from '../tunnels/endpoint-publisher.ts';
import { answerChallenge, type RedirectOptions, redirectToHttps } from './plain-answers.ts';

interface VisitorServersParts {
  readonly settings: EdgeSettings;
  readonly rules: HeadRules;
  readonly load: EdgeLoad;
  readonly snapshots: Snapshots;
  readonly runtime: EdgeRuntime;
  readonly plainRuntime: EdgeRuntime;
  readonly addresses: ClientAddresses;
  readonly answers: EarlyAnswers;
  readonly unknownNames: Pick<UnknownNames, 'request'>;
  readonly vacantNames: VacantNames;
  readonly challenges: Pick<AcmeChallenges, 'forRequest'>;
  /** Ports of the listeners as clients see them. */
  readonly publicPorts: PublicPorts;
  readonly metrics: Pick<EdgeMetrics, 'challengeAnswered' | 'overloaded' | 'sessionFailed'>;
  readonly log: TlsLog & { warn(fields: object, message: string): void };
  isPassthrough(host: string): boolean;
  newRequestId(): string;
}

type SecureConnection = Omit<EdgeConnection, 'edge' | 'tlsGeneration' | 'clientCertificate'>;

/**
 * Receives the requests of visitors on the HTTPS and the plain HTTP listener, and rejects those that no edge serves.
 */
export class VisitorServers {
  readonly #parts: VisitorServersParts;
  readonly #https: HttpServers;
  readonly #plain: HttpServers;
  readonly #transportSecurity: ReturnType<typeof strictTransportSecurity>;
  readonly #overload: OverloadRefusals;
  readonly #redirects: RedirectOptions;

  constructor(parts: VisitorServersParts) {
    const { settings, rules, metrics, log, answers, load } = parts;
    this.#parts = parts;
    this.#transportSecurity = strictTransportSecurity(settings.strictTransportSecurity ?? NO_TRANSPORT_SECURITY);
    this.#overload = new OverloadRefusals({
      newRequestId: () => parts.newRequestId(),
      answers,
      refused: (limit) => metrics.overloaded(limit),
      warn: (fields, message) => log.warn(fields, message),
    });
    this.#redirects = {
      hosts: parts.snapshots,
      httpsPort: () => parts.publicPorts().https,
      newRequestId: () => parts.newRequestId(),
      answers,
      unknownName: ({ remoteAddress }, head, answer) =>
        parts.unknownNames.request(head, parts.addresses.of(remoteAddress, head), answer),
    };
    this.#https = new HttpServers({
      scheme: 'https',
      limits: settings.http,
      rules,
      handle: (connection, request) => this.#handleSecure(connection, request),
      onSessionError: (reason, error) => {
        metrics.sessionFailed(reason);
        log.debug({ err: error }, 'an HTTP/2 connection was ended');
      },
    });
    this.#plain = new HttpServers({
      scheme: 'http',
      limits: settings.http,
      rules,
      handle: (connection, request) => this.#handlePlain(connection, request),
      onSessionError: () => {},
    });
    load.servers.push(this.#https, this.#plain);
  }

  /** A connection that satisfied its edge. */
  accept({
    socket,
    protocol,
    servername,
    edge,
    tlsGeneration,
    remoteAddress,
    clientCertificate,
  }: EdgeConnection): void {
    this.#https.accept(socket, protocol, {
      serverName: servername,
      edgeId: edge.id,
      tlsGeneration,
      tlsVersion: socket.getProtocol() ?? '',
      clientAuthorities: edge.tls.clientAuthorities ?? [],
      remoteAddress,
      isFromProxy: this.#parts.addresses.isTrusted(remoteAddress),
      clientCertificate,
    });
  }

  /** A connection for a name that nothing serves. */
  acceptVacant({ socket, protocol, servername, remoteAddress }: SecureConnection): void {
    this.#https.accept(socket, protocol, {
      ...plainFacts(remoteAddress, this.#parts.addresses),
      serverName: servername,
      tlsVersion: socket.getProtocol() ?? '',
    });
  }

  acceptPlain(socket: Socket, client: ArrivedClient = peerOf(socket)): void {
    this.#plain.accept(socket, 'http/1.1', plainFacts(client.address, this.#parts.addresses));
  }

  *unsentResponses(): Iterable<UnsentResponse & HeldResponse> {
    yield* this.#https.unsentResponses();
    yield* this.#plain.unsentResponses();
  }

  #handleSecure(connection: ConnectionFacts, request: IncomingRequest): void {
    const { reading, writer } = request;
    const { runtime } = this.#parts;
    writer.ownHeader = this.#transportSecurity(reading);
    if (connection.edgeId === '' && this.#isRefusedAsVacant(connection, request)) return;
    const facts = reading.ok ? currentFacts(connection, reading.head.host, runtime.findEdge) : connection;
    this.#serve(runtime, facts, request);
  }

  #handlePlain(connection: ConnectionFacts, request: IncomingRequest): void {
    const { reading } = request;
    const { plainRuntime } = this.#parts;
    if (!reading.ok) {
      this.#serve(plainRuntime, connection, request);
      return;
    }
    const { head } = reading;
    if (this.#isAnsweredChallenge(connection, request, head)) return;
    const edge = plainRuntime.findEdge(head.host);
    if (edge !== undefined) this.#serve(plainRuntime, onPlainHost(connection, edge), request);
    else if (!this.#isRefusedAsVacant(connection, request)) redirectToHttps(this.#redirects, connection, head, request);
  }

  /** Whether an ACME server asks for a proof, and has it now. */
  #isAnsweredChallenge(
    connection: ConnectionFacts,
    request: IncomingRequest,
    { method, host, path }: RequestHead,
  ): boolean {
    const { challenges, metrics, answers } = this.#parts;
    const challenge = challenges.forRequest({ method, host, target: path.target });
    if (challenge === undefined) return false;
    metrics.challengeAnswered('http-01');
    const answer = answerChallenge(challenge, connection, request.writer, this.#parts.newRequestId());
    answers.challenged(connection, request, answer);
    return true;
  }

  #serve(runtime: EdgeRuntime, connection: ConnectionFacts, request: IncomingRequest): void {
    const limit = this.#limitExceeded(connection, request);
    if (limit === null) serveRequest(runtime, connection, request);
    else this.#overload.refuse(connection, request, limit);
  }

  /** The limit that rejects another request; null: it is admitted. */
  #limitExceeded(connection: ConnectionFacts, { reading, source }: IncomingRequest): AdmissionLimit | null {
    if (this.#https.isFullFor(connection)) return 'requests';
    const { load, addresses } = this.#parts;
    const { remoteAddress } = connection;
    return load.admission.exceeded(source !== null, () =>
      reading.ok ? addresses.of(remoteAddress, reading.head) : remoteAddress,
    );
  }

  /** Whether nothing serves the host of the request, and its client has been told so. */
  #isRefusedAsVacant(connection: ConnectionFacts, request: IncomingRequest): boolean {
    const { vacantNames, runtime } = this.#parts;
    const host = request.reading.ok ? request.reading.head.host : '';
    if (!vacantNames.has(host) || this.#isServed(host)) return false;
    answerVacant(runtime, host, connection, request);
    return true;
  }

  #isServed(host: string): boolean {
    return this.#parts.snapshots.find(host) !== undefined || this.#parts.isPassthrough(host);
  }
}
