import { Resources } from './generated/resources.ts';
import { type ClientOptions, Transport } from './transport.ts';

/**
 * Typed client of the management API. Each resource is a property (`client.httpsEdges`), each module a property of its
 * resource (`client.httpsEdgeRoutes.oidc`), each operation a method.
 */
export class PosternClient extends Resources {
  constructor(options: ClientOptions) {
    super(new Transport(options));
  }
}
