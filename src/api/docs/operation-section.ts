import type { ErrorCode } from '../../lib/errors.ts';
import { STATUS_CODES } from '../../lib/http/node-http.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { MediaType, ParameterObject, ResponseObject } from '../openapi/document.ts';
import { curlCommand } from './curl-command.ts';
import type { DocumentReader, PathOperation } from './document-reader.ts';
import { fieldList, parameterList } from './field-list.ts';
import { type Html, html, prose } from './html.ts';
import { componentName, typeText } from './schema-text.ts';

type Referable = JsonObject & { readonly $ref: string };

/** One operation: its parameters on the left, an example on the right. */
export function operationSection(entry: PathOperation, reader: DocumentReader): Html {
  const { method, path, operation } = entry;
  const scope = operation.security?.flatMap((requirement) => Object.values(requirement).flat())[0];
  return html`<article class="operation" id="${operation.operationId}">
<h3>${operation.summary} <a class="anchor" href="#${operation.operationId}" aria-label="Link to this operation">#</a></h3>
<p class="endpoint"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code></p>
<div class="columns"><div>
${operation.description !== undefined && html`<p>${prose(operation.description)}</p>`}
${scope !== undefined && html`<p class="scope">Requires the scope <code>${scope}</code>.</p>`}
${parameterSections(entry, reader)}
${bodySection(entry, reader)}
${errorSection(entry, reader)}
</div><div class="examples">
<h4>Request</h4>
<pre><code>${curlCommand(entry, reader)}</code></pre>
${successSection(entry, reader)}
</div></div>
</article>`;
}

function parameterSections({ operation }: PathOperation, reader: DocumentReader): Html {
  const parameters = (operation.parameters ?? []).map((parameter) => reader.resolve<ParameterObject>(parameter));
  const sections = [
    { title: 'Path', shown: parameters.filter((parameter) => parameter.in === 'path') },
    { title: 'Query', shown: parameters.filter((parameter) => parameter.in === 'query') },
    // Every operation needs the version header; the introduction documents it once.
    {
      title: 'Headers',
      shown: parameters.filter((parameter) => parameter.in === 'header' && parameter.name !== 'Service-Version'),
    },
  ];
  return html`${sections
    .filter(({ shown }) => shown.length > 0)
    .map(({ title, shown }) => html`<h4>${title}</h4>${parameterList(shown, reader)}`)}`;
}

function bodySection({ operation }: PathOperation, reader: DocumentReader): Html | null {
  const schema = onlyMedia(operation.requestBody)?.schema;
  if (schema === undefined) return null;
  const name = componentName(schema);
  const fields = name === null ? schema : reader.fieldsOf(name);
  return html`<div ${name !== null && html`id="schema-${name}"`}><h4>Body</h4>${fieldList(fields, 'body', reader)}</div>`;
}

function successSection({ operation }: PathOperation, reader: DocumentReader): Html {
  const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 300);
  return html`${successes.map(([status, response]) => {
    const { description, headers, content } = reader.resolve<ResponseObject>(response);
    const media = onlyMedia({ content });
    const example = media === undefined ? undefined : exampleOf(media, reader);
    const extra = Object.keys(headers ?? {});
    return html`<h4>Response <span class="status">${status} ${STATUS_CODES[status]}</span></h4>
<p>${prose(description)}${media !== undefined && html` Body: ${typeText(media.schema)}.`}${
      extra.length > 0 &&
      html` Headers: ${extra.map((header, index) => [index > 0 && ', ', html`<code>${header}</code>`])}.`
    }</p>${
      example !== undefined &&
      html`<details open><summary>Example</summary><pre><code>${JSON.stringify(example, null, 2)}</code></pre></details>`
    }`;
  })}`;
}

/** Named schemas have an example of their own; a list shows the one of its items. */
function exampleOf({ schema, example }: MediaType, reader: DocumentReader): JsonValue | undefined {
  if (example !== undefined) return example;
  const { examples, properties } = reader.resolve(schema as Referable);
  if (examples !== undefined) return (examples as readonly JsonValue[])[0];
  const fields = Object.entries((properties ?? {}) as Readonly<Record<string, JsonObject>>);
  const shown = fields.map(([name, field]) => {
    if (!isJsonObject(field['items'])) return [name, null];
    const [item] = (reader.resolve(field['items'] as Referable)['examples'] ?? []) as readonly JsonValue[];
    return [name, item === undefined ? [] : [item]];
  });
  return shown.some(([, value]) => Array.isArray(value) && value.length > 0) ? Object.fromEntries(shown) : undefined;
}

/** The codes of an operation's errors. */
export function errorCodesOf({ operation }: PathOperation, reader: DocumentReader): readonly ErrorCode[] {
  const errors = Object.entries(operation.responses).filter(
    ([status]) => status === 'default' || Number(status) >= 400,
  );
  return errors.flatMap(([, response]) => codesOf(reader.resolve<ResponseObject>(response)));
}

function errorSection(entry: PathOperation, reader: DocumentReader): Html | null {
  const codes = errorCodesOf(entry, reader);
  if (codes.length === 0) return null;
  const byStatus = Map.groupBy(codes, (code) => reader.error(code).status);
  const rows = [...byStatus].sort(([a], [b]) => a - b);
  return html`<details class="errors"><summary>Errors</summary><dl>${rows.map(
    ([status, same]) =>
      html`<div><dt>${status}</dt><dd>${same.map((code) => html`<a href="#${code}"><code>${code}</code></a> `)}</dd></div>`,
  )}</dl></details>`;
}

function codesOf(response: ResponseObject): readonly ErrorCode[] {
  const { properties } = (onlyMedia(response)?.schema ?? {}) as {
    properties?: { error_code?: { enum?: ErrorCode[] } };
  };
  return properties?.error_code?.enum ?? [];
}

function onlyMedia(
  holder: { readonly content?: Readonly<Record<string, MediaType>> | undefined } | undefined,
): MediaType | undefined {
  return Object.values(holder?.content ?? {})[0];
}

/** Lets a long path wrap after each slash. */
function breakable(path: string): Html {
  return html`${path.split(/(?<=\/)/).map((piece) => html`${piece}<wbr>`)}`;
}
