import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { JSON_TYPE, type ParameterObject } from '../openapi/document.ts';
import type { DocumentReader, PathOperation } from './document-reader.ts';

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
