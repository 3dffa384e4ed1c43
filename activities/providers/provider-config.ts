/** What can be wrong with a provider's configuration before anything is sent. */

/** The checkable part of a provider's configuration. */
export interface CheckedConfig {
  readonly name: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly needsKey: boolean;
}

/** What is wrong and how to mend it, or undefined. Contract: the text never holds the key. */
export function configProblem(config: CheckedConfig): string | undefined {
  if (!/^[a-z0-9][a-z0-9._-]*$/i.test(config.name)) {
    return `Provider name "${config.name}" must be letters, digits, "-", "_" and "." only, as it becomes part of route names.`;
  }
  if (config.needsKey && config.apiKey.trim() === '') {
    return `Provider "${config.name}" has no API key. Pass \`apiKey\`, or set the provider's key variable for the worker.`;
  }
  if (/[^\x21-\x7e]/.test(config.apiKey)) {
    return `The API key of provider "${config.name}" holds white space or characters that cannot stand in a header. Copy it again.`;
  }
  return urlProblem(config);
}

function urlProblem(config: CheckedConfig): string | undefined {
  const url = URL.parse(config.baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return `The base URL of provider "${config.name}" is no http(s) URL. Write it like https://host/path.`;
  }
  if (url.username !== '' || url.password !== '') {
    return `The base URL of provider "${config.name}" holds credentials. Pass \`apiKey\` or \`headers\` instead.`;
  }
  return undefined;
}
