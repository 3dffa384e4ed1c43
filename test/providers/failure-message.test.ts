/** What people read of a provider's failure, and what nobody may. */
import { anthropicError, openaiError, sortAnswer } from './support/vendor-answers';

describe('the message of a failure', () => {
  it.each([
    [
      'a starred key',
      openaiError(
        'Incorrect API key provided: sk-proj-********Zt9Q. You can find your API key at https://x.test',
        'x',
        'invalid_api_key',
      ),
      'Zt9Q',
    ],
    ['a starred key anywhere', openaiError('The key ab12****Zt9Q is switched off', 'x'), 'Zt9Q'],
    [
      'whatever stood where the key should be',
      openaiError(
        'Incorrect API key provided: https://intranet.acme.test/secret page. You can find your key',
        'x',
        'invalid_api_key',
      ),
      'intranet',
    ],
    ['the key that was sent', openaiError('bad key the-real-key-9f8e7d', 'x'), 'the-real-key'],
    [
      'a bearer token',
      openaiError('header Authorization: Bearer abcdef0123456789abcdef was refused', 'x'),
      'abcdef0123456789',
    ],
  ])('never shows %s', (_name, body, secret) => {
    expect(sortAnswer({ status: 401, body }).message).not.toContain(secret);
  });

  it('names route, status, code, words and remedy in one short line', () => {
    const { message } = sortAnswer({
      status: 401,
      body: anthropicError('authentication_error', 'invalid x-api-key'),
    });
    expect(message).toBe(
      'acme/model-1 refused the credentials (HTTP 401, authentication_error): invalid x-api-key. Check the API key and its permissions for this provider.',
    );
  });

  it('stays short whatever the vendor says', () => {
    const body = anthropicError('api_error', `line\n\u202e${'x'.repeat(9_000)}😀`);
    const { message } = sortAnswer({ status: 500, body });
    expect(message.length).toBeLessThanOrEqual(500);
    expect(message).not.toMatch(/[\n\u202e]/);
  });

  it('shows nothing of a body that it cannot read', () => {
    expect(sortAnswer({ status: 500, bodyText: 'SECRET stack trace' }).message).not.toContain(
      'SECRET',
    );
  });
});
