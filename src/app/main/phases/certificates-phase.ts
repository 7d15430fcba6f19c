import { Health } from '../../../control/api/health.ts';
import { type ApiHandler, startingApi } from '../../../control/api/starting-api.ts';
import { LatePart } from '../../../kit/late-part.ts';
import { formatListenAddress, isWildcardHost, type ListenAddress } from '../../../kit/net/listen-address.ts';
import type { InternalCa } from '../../../proxy/pki/internal-ca.ts';
import { internalCaOf } from '../../../proxy/pki/server-internal-ca.ts';
import { openApiTls, type TlsSource } from '../../../proxy/pki/tls-source.ts';
import { openListener } from '../sockets/listener.ts';
import type { ConfigurationFollowed } from './store-phase.ts';

export interface CertificatesOpened extends ConfigurationFollowed {
  readonly internalCa: () => Promise<InternalCa>;
  /** The certificate of the API; null: it speaks plain HTTP. */
  readonly tls: TlsSource | null;
  readonly health: Health;
  readonly apiListener: Awaited<ReturnType<typeof openListener>>;
  /** Until it is open, the listener responds with 503. */
  readonly lateApi: LatePart<ApiHandler>;
  /** The prefix of every `uri`, without a trailing slash. */
  readonly baseUrl: string;
}

/** The internal CA, and the listener of the API with its certificate. */
export async function openCertificates(
  earlier: ConfigurationFollowed,
  opened: AsyncDisposableStack,
): Promise<CertificatesOpened> {
  const { config, store, replica, clock, logger, sockets, descriptors } = earlier;
  const internalCa = internalCaOf({ config, store, replica, clock, logger });
  const tls = await openApiTls({
    config,
    clock,
    internalCa,
    records: replica,
    onProblem: (err) => logger.error({ err }, 'failed to renew the certificate of the API'),
  });
  opened.defer(() => tls?.close());

  // The listener comes before the API: with port 0 the base URL is known only now.
  const health = new Health();
  const lateApi = new LatePart<ApiHandler>('the API');
  const starting = startingApi(clock);
  const apiListener = await openListener({
    setting: 'api_listen',
    address: config.api_listen,
    currentApi: () => lateApi.ifOpen ?? starting,
    tls,
    maxConnections: descriptors.share,
    open: (server) => sockets.open(server, 'api_listen', config.api_listen),
  });
  opened.defer(() => apiListener.drain(0));
  const baseUrl = config.api_url ?? derivedBaseUrl(apiListener.address, tls !== null);
  return { ...earlier, internalCa, tls, health, apiListener, lateApi, baseUrl };
}

/** The API's address as clients on this machine dial it: a wildcard listener has none of its own. */
function derivedBaseUrl({ host, port }: ListenAddress, isTls: boolean): string {
  const dialled = isWildcardHost(host) ? 'localhost' : host;
  return `${isTls ? 'https' : 'http'}://${formatListenAddress({ host: dialled, port })}`;
}
