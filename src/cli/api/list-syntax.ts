import { API_EXIT_CODES, type CommandSyntax } from '../command-syntax.ts';
import { apiResources, findOperation, findResource } from './api-resources.ts';
import { operationFlags } from './operation-flags.ts';
import { operationList } from './operation-list.ts';

/** Syntax of a command that is a short form of `postern api NAME list`. */
export function listSyntax(name: string, about: string): CommandSyntax {
  const operation = findOperation(findResource(apiResources(operationList()), name), 'list');
  return {
    name,
    about: `${about} Short for "postern api ${name} list".`,
    flags: operationFlags(operation),
    exitCodes: API_EXIT_CODES,
  };
}
