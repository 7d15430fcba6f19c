import { KSUID_PATTERN } from '../../lib/text/ksuid.ts';
import type { Resource } from '../../resources/resource.ts';
import type { ParameterObject } from './document.ts';
import { sampleId } from './sample-ids.ts';

/** Parameters of a path. The collection before a parameter determines its resource. */
export function pathParameters(path: string, resources: readonly Resource[]): readonly ParameterObject[] {
  return Array.from(path.matchAll(/\{([^}]+)\}/g), (match) => {
    const name = match[1] as string;
    const collection = path.slice(0, match.index - 1);
    const resource = resources.find((each) => each.path === collection);
    if (resource === undefined) throw new Error(`no resource has the path ${collection}, which ${path} builds on`);
    return { name, in: 'path', required: true, ...described(name, resource) };
  });
}

function described(name: string, resource: Resource): Pick<ParameterObject, 'description' | 'schema' | 'example'> {
  const noun = resource.title.replace(/^an? /, '');
  if (resource.idPrefix === '') {
    const example = sampleOfOwnKey(name, resource);
    return { description: `The ${name} of the ${noun}.`, schema: { type: 'string' }, example };
  }
  return {
    description: `Id of the ${noun}.`,
    schema: { type: 'string', pattern: `^${resource.idPrefix}_${KSUID_PATTERN}$` },
    example: sampleId(resource),
  };
}

/** A resource without its own ids is identified by a field of its create body. */
function sampleOfOwnKey(name: string, resource: Resource): string {
  const create = resource.type === 'live' ? resource.operations.find((each) => each.verb === 'create') : undefined;
  return (create?.body?.example[name] as string | undefined) ?? name;
}
