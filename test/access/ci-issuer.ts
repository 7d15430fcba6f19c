import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type JWTHeaderParameters, SignJWT } from 'jose';
import type { Cleanup } from '../support/cleanup.ts';

export interface TokenChanges {
  /** Undefined removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly key?: KeyObject;
}

/** A system that issues tokens to its jobs. Its discovery document has what those of CI systems have: no login. */
export class CiIssuer {
  readonly issuer: string;
  /** The issuer's only key: another one withdraws the one before. */
  key = generateKeyPairSync('rsa', { modulusLength: 2048 });
  /** How often its keys were fetched. */
  keyFetches = 0;
  isDown = false;
  #kid = 'key-1';

  private constructor(server: Server) {
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      response.writeHead(this.isDown ? 503 : 200, { 'content-type': 'application/json' });
      if (request.url === '/keys') this.keyFetches += 1;
      response.end(JSON.stringify(request.url === '/keys' ? this.#keys() : this.#document()));
    });
  }

  static async open(test: Cleanup): Promise<CiIssuer> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    test.after(() => {
      server.closeAllConnections();
      server.close();
      return Promise.resolve();
    });
    return new CiIssuer(server);
  }

  /** A token of a job of acme/app, for the audience "postern". */
  token({ claims = {}, header = {}, key = this.key.privateKey }: TokenChanges = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({
      iss: this.issuer,
      sub: 'repo:acme/app:ref:refs/heads/main',
      aud: 'postern',
      repository: 'acme/app',
      iat: now,
      nbf: now,
      exp: now + 300,
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', kid: this.#kid, ...header })
      .sign(key, { crit: { unknown: true } });
  }

  /** The same claims, signed with nothing, or with the public key as if it were a secret. */
  async forged(alg: 'none' | 'HS256'): Promise<string> {
    const [, payload] = (await this.token()).split('.') as [string, string, string];
    const head = Buffer.from(JSON.stringify({ alg, kid: this.#kid })).toString('base64url');
    const secret = this.key.publicKey.export({ type: 'spki', format: 'pem' });
    const mac = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url');
    return `${head}.${payload}.${alg === 'none' ? '' : mac}`;
  }

  #document(): object {
    return {
      issuer: this.issuer,
      jwks_uri: `${this.issuer}/keys`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    };
  }

  #keys(): object {
    return { keys: [{ ...this.key.publicKey.export({ format: 'jwk' }), kid: this.#kid, use: 'sig', alg: 'RS256' }] };
  }
}
