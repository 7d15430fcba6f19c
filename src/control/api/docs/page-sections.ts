import type { ErrorCode } from '../../../kit/errors.ts';
import { STATUS_CODES } from '../../../kit/http/node-http.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { JSON_TYPE, type MediaType, type ParameterObject, type ResponseObject, type Tag } from '../openapi/document.ts';
import { OUTSIDE_OPERATIONS } from '../openapi/error-responses.ts';
import {
  componentName,
  type DocumentReader,
  fieldList,
  type PathOperation,
  parameterList,
  typeText,
} from './field-list.ts';
import { type Html, html, prose } from './html.ts';

export function introductionSection(reader: DocumentReader): Html {
  const { info } = reader.document;
  return html`<header id="top">
<h1>${info['title'] as string} <span class="version">${info['version'] as string}</span></h1>
${paragraphs(info['description'] as string)}
<p>To run the examples in a shell, set your API key first. The API is also available as an OpenAPI 3.1 document: <a href="/openapi.json">openapi.json</a>.</p>
<pre><code>export POSTERN_CLI_API_KEY='…'
curl '${reader.serverUrl}/edges/https' \\
  -H "Authorization: Bearer $POSTERN_CLI_API_KEY" \\
  -H 'Service-Version: 2'</code></pre>
</header>`;
}

/** A resource or module: its operations, and the object that they return. */
export function tagSection(tag: Tag, objectName: string | null, reader: DocumentReader): Html {
  return html`<section id="${tag.name}">
<h2>${tag['x-displayName']} <a class="anchor" href="#${tag.name}" aria-label="Link to this section">#</a></h2>
<p>${prose(tag.description)}</p>
${objectName !== null && objectSection(objectName, reader)}
${reader.operationsOf(tag.name).map((entry) => operationSection(entry, reader))}
</section>`;
}

/** Objects shared by several resources. */
export function sharedObjectsSection(names: readonly string[], reader: DocumentReader): Html {
  return html`<section id="shared-objects"><h2>Shared objects</h2>
<p>Objects that several operations return, and the envelopes of lists.</p>
${names.map((name) => objectSection(name, reader))}</section>`;
}

export function errorCodesSection(reader: DocumentReader): Html {
  const ofOperations = reader.document.tags.flatMap(({ name }) =>
    reader.operationsOf(name).flatMap((entry) => errorCodesOf(entry, reader)),
  );
  const codes = [...new Set([...ofOperations, ...OUTSIDE_OPERATIONS])].sort();
  return html`<section id="errors"><h2>Errors</h2>
<p>Programs should compare <code>error_code</code>; <code>msg</code> is for people. The body is an <a href="#schema-Error">Error</a>.</p>
<dl class="fields">${codes.map(
    (code) =>
      html`<div id="${code}"><dt><code>${code}</code> <span class="type">${reader.error(code).status}</span></dt><dd>${prose(reader.error(code).explanation)}</dd></div>`,
  )}</dl></section>`;
}

function objectSection(name: string, reader: DocumentReader): Html {
  const schema = reader.fieldsOf(name);
  const fields =
    schema['anyOf'] === undefined ? fieldList(schema, 'response', reader) : html`<p>One of: ${typeText(schema)}.</p>`;
  // The anchor is inside, because a browser opens the details element around a link's target.
  return html`<details class="object"><summary>The object <code>${name}</code></summary><div id="schema-${name}">${fields}</div></details>`;
}

/** Paragraphs with lists, the only markup of longer texts. */
function paragraphs(text: string): Html {
  return html`${text.split('\n\n').map((paragraph) => {
    const [first = '', ...items] = paragraph.split(/\n- /);
    return html`<p>${prose(first)}</p>${
      items.length > 0 && html`<ul class="rules">${items.map((item) => html`<li>${prose(item)}</li>`)}</ul>`
    }`;
  })}`;
}

type Referable = JsonObject & { readonly $ref: string };

/** One operation: its parameters on the left, an example on the right. */
function operationSection(entry: PathOperation, reader: DocumentReader): Html {
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
function errorCodesOf({ operation }: PathOperation, reader: DocumentReader): readonly ErrorCode[] {
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

/** A command to paste into a shell where POSTERN_CLI_API_KEY is set. */
export function curlCommand({ method, path, operation }: PathOperation, reader: DocumentReader): string {
  const parameters = (operation.parameters ?? []).map((parameter) => reader.resolve<ParameterObject>(parameter));
  const url = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, String(example as string)), path);
  const needsVersion = parameters.some((parameter) => parameter.name === 'Service-Version');
  const needsKey = operation.security?.length !== 0;
  const body = operation.requestBody?.content[JSON_TYPE]?.example;
  const files = body === undefined ? [] : pemFields(body as JsonObject);
  const words = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} ${quoted(`${reader.serverUrl}${url}`)}`,
    // Double quotes, so that the shell expands the key.
    ...(needsKey ? ['-H "Authorization: Bearer $POSTERN_CLI_API_KEY"'] : []),
    ...(needsVersion ? [`-H ${quoted('Service-Version: 2')}`] : []),
    ...(body === undefined ? [] : [`-H ${quoted('Content-Type: application/json')}`]),
    ...(body === undefined ? [] : [files.length > 0 ? '--data-binary @-' : `-d ${quoted(bodyText(body))}`]),
  ];
  return `${files.length > 0 ? `${jqCommand(body as JsonObject, files)} |\n` : ''}${words.join(' \\\n  ')}`;
}

/** Nobody types a certificate into a command: jq reads it from a file. */
function jqCommand(body: JsonObject, files: readonly string[]): string {
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !files.includes(name)));
  const sources = files.map((name) => `--rawfile ${name} ${name.replace(/_pem$/, '')}.pem`).join(' ');
  const fields = files.map((name) => `$${name}`).join(', ');
  const filter = Object.keys(rest).length === 0 ? `{${fields}}` : `${JSON.stringify(rest)} + {${fields}}`;
  return `jq -n ${sources} ${quoted(filter)}`;
}

function pemFields(body: JsonObject): readonly string[] {
  return Object.keys(body).filter((name) => String(body[name] as string).startsWith('-----BEGIN '));
}

function bodyText(body: JsonValue): string {
  return JSON.stringify(body, null, 2);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
