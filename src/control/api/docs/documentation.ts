import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { loadPart } from '../../../kit/load-part.ts';
import type { Operation } from '../../resources/operation.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import type { OpenApiOptions } from '../openapi.ts';

const compressed = promisify(gzip);

export interface BuiltDocument {
  readonly text: string;
  /** The console loads the OpenAPI document with every page load: 400 KB become 50. */
  readonly gzip: Buffer;
  /** Weak: it stands for both forms. */
  readonly etag: string;
}

/** The pages about the API. They are built at the first request: few servers get one, and startup need not wait. */
export class Documentation {
  readonly #operations: readonly Operation[];
  readonly #options: OpenApiOptions;
  #document: OpenApiDocument | undefined;
  #openApi: Promise<BuiltDocument> | undefined;
  #docs: Promise<BuiltDocument> | undefined;

  constructor(operations: readonly Operation[], options: OpenApiOptions) {
    this.#operations = operations;
    this.#options = options;
  }

  get openApi(): Promise<BuiltDocument> {
    this.#openApi ??= this.#made()
      .then((document) => built(`${JSON.stringify(document)}\n`))
      .catch((error: unknown) => {
        this.#openApi = undefined;
        throw error;
      });
    return this.#openApi;
  }

  get docs(): Promise<BuiltDocument> {
    this.#docs ??= this.#page().catch((error: unknown) => {
      this.#docs = undefined;
      throw error;
    });
    return this.#docs;
  }

  async #page(): Promise<BuiltDocument> {
    const [document, { docsPage }] = await Promise.all([this.#made(), loadPart(() => import('./docs-page.ts'))]);
    return built(docsPage(document, this.#options.errorRows));
  }

  /** Building and serializing it take 30 ms each: other requests are served in between. */
  async #made(): Promise<OpenApiDocument> {
    const { openApiDocument } = await loadPart(() => import('../openapi.ts'));
    this.#document ??= openApiDocument(this.#operations, this.#options);
    await new Promise((resolve) => setImmediate(resolve));
    return this.#document;
  }
}

async function built(text: string): Promise<BuiltDocument> {
  return { text, gzip: await compressed(text), etag: `W/"${createHash('sha256').update(text).digest('base64url')}"` };
}
