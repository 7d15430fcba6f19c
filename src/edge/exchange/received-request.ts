import { combinedValue, firstValue, valuesOf } from '../../lib/http/header-values.ts';
import type { ClientCertificate } from '../../modules/contract/decides.ts';
import { BodyReader } from '../bodies/body-reader.ts';
import type { ClientSide } from '../connections/client-side.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';

/** What the client sent, as modules read it. */
export class ReceivedRequest {
  readonly connection: ConnectionFacts;
  readonly client: ClientSide;

  constructor(connection: ConnectionFacts, client: ClientSide) {
    this.connection = connection;
    this.client = client;
  }

  get method(): string {
    return this.client.head.method;
  }

  get path(): string {
    return this.client.head.path.path;
  }

  get host(): string {
    return this.client.head.host;
  }

  get authority(): string {
    return this.client.head.authority;
  }

  get target(): string {
    return this.client.head.path.target;
  }

  get switchTo(): string | null {
    return this.client.head.switchTo;
  }

  get clientCertificate(): ClientCertificate | null {
    return this.connection.clientCertificate;
  }

  header(name: string): string | undefined {
    return firstValue(this.client.head.headers, name);
  }

  combinedHeader(name: string): string | undefined {
    return combinedValue(this.client.head.headers, name);
  }

  headerLines(name: string): readonly string[] {
    return valuesOf(this.client.head.headers, name);
  }

  async readBody(maxBytes: number): Promise<Buffer | null> {
    const reading = await new BodyReader(this.client).read(maxBytes);
    return typeof reading === 'string' ? null : reading;
  }
}
