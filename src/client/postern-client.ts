import { Resources } from './generated/resources.ts';
import { type ClientOptions, Transport } from './transport.ts';

/**
 * The management API, typed. Each resource is a property (`client.httpsEdges`), each module one of its resource
 * (`client.httpsEdgeRoutes.oidc`), each operation a method.
 */
export class PosternClient extends Resources {
  constructor(options: ClientOptions) {
    super(new Transport(options));
  }
}
