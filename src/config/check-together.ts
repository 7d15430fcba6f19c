import { formatListenAddress, isLoopbackHost } from '../lib/listen-address.ts';
import { configErrors } from './errors.ts';
import { type Config, INTERNAL_CERTIFICATE } from './schema.ts';

/** What no setting can say about itself. */
export function checkTogether(config: Config): void {
  const { api_listen, api_tls_cert, api_tls_key } = config;
  const hasFiles = api_tls_cert !== null && api_tls_cert !== INTERNAL_CERTIFICATE;
  if (hasFiles && api_tls_key === null)
    throw together('api_tls_cert names a file, so api_tls_key must name the key file');
  if (!hasFiles && api_tls_key !== null) {
    throw together('api_tls_key is given, so api_tls_cert must name the certificate file that belongs to it');
  }
  if (config.tunnel_tls_cert !== INTERNAL_CERTIFICATE && config.tunnel_tls_key === null) {
    throw together('tunnel_tls_cert names a file, so tunnel_tls_key must name the key file');
  }
  if (config.tunnel_tls_cert === INTERNAL_CERTIFICATE && config.tunnel_tls_key !== null) {
    throw together('tunnel_tls_key is given, so tunnel_tls_cert must name the certificate file that belongs to it');
  }
  if (config.roles.includes('gateway') && !config.roles.includes('edge')) {
    throw together('roles has gateway without edge: what agents publish is served by the edge of the same process');
  }
  if (api_tls_cert === null && !isLoopbackHost(api_listen.host)) {
    throw together(
      `api_listen is ${formatListenAddress(api_listen)}, which others can reach, and API keys would cross the network in the clear: ` +
        'set api_tls_cert and api_tls_key (POSTERN_API_TLS_CERT, POSTERN_API_TLS_KEY), or api_tls_cert to "internal", or listen on 127.0.0.1',
    );
  }
}

function together(message: string): Error {
  return configErrors.create('ERR_POSTERN_CONFIG_TOGETHER', message);
}
