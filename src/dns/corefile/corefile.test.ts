import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCorefile } from './config.ts'
import { resolvConfUpstreams } from './forward-config.ts'
import { CorefileError } from './tokens.ts'

const parse = (text: string) => parseCorefile(text, { file: 'Corefile' })
const KUBEADM = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`

describe('a Corefile', () => {
  it("of kubeadm's is understood", () => {
    const [server, ...more] = parse(KUBEADM)
    expect(more).toEqual([])
    expect(server).toMatchObject({
      zones: ['.'],
      port: 53,
      bind: [],
      errors: true,
      health: { address: ':8080', lameduckMs: 5000 },
      ready: { address: ':8181' },
      prometheus: { address: ':9153' },
      reload: { everyMs: 30_000, jitterMs: 15_000 },
      loadbalance: true,
      loop: true,
      kubernetes: { zones: ['cluster.local.', 'in-addr.arpa.', 'ip6.arpa.'], pods: 'insecure', ttl: 30, fallthrough: ['in-addr.arpa.', 'ip6.arpa.'] },
      cache: { zones: ['.'], withoutSuccess: ['cluster.local.'], withoutDenial: ['cluster.local.'], success: { capacity: 9984, maxTtl: 30, minTtl: 5 } },
      forwards: [{ from: '.', to: [{ file: '/etc/resolv.conf' }], maxConcurrent: 1000, policy: 'random' }],
    })
  })

  it('has several blocks, zones, ports and ranges of addresses', () => {
    const servers = parse(`
# a comment
example.org:1053 Example.NET:1053 { # another
  forward . 192.0.2.1:5353 [2001:db8::1]:53 dns://192.0.2.2
}
10.0.0.0/8 { hosts {
    192.0.2.9 a.example b.example
    ttl 60
    fallthrough
  }
}`)
    expect(servers).toMatchObject([
      {
        zones: ['example.org.', 'example.net.'],
        port: 1053,
        forwards: [
          {
            to: [
              { address: '192.0.2.1', port: 5353 },
              { address: '2001:db8::1', port: 53 },
              { address: '192.0.2.2', port: 53 },
            ],
          },
        ],
      },
      { zones: ['10.in-addr.arpa.'], port: 53, hosts: { file: '/etc/hosts', inline: ['192.0.2.9 a.example b.example'], ttl: 60, fallthrough: ['.'] } },
    ])
  })

  it('may leave out braces and take words from the environment', () => {
    const [server] = parseCorefile('.:{$PORT}\nbind "127.0.0.1"\nerrors', { file: 'Corefile', env: { PORT: '1053' } })
    expect(server).toMatchObject({ zones: ['.'], port: 1053, bind: ['127.0.0.1'], errors: true })
  })

  it.each([
    ['. {\n  whoami\n}', "Corefile:2 - Error during parsing: Unknown directive 'whoami'"],
    ['. {\n  kubernetes cluster.local {\n    podz insecure\n  }\n}', "Corefile:3 - Error during parsing: unknown property 'podz' of kubernetes"],
    [
      '. {\n  kubernetes {\n    pods maybe\n  }\n}',
      'Corefile:3 - Error during parsing: wrong value for pods: maybe, pods must be one of: disabled, verified, insecure',
    ],
    ['. {\n  kubernetes {\n    ttl 4000\n  }\n}', 'Corefile:3 - Error during parsing: ttl must be in range [0, 3600]: 4000'],
    ['. {\n  forward . tls://1.1.1.1\n}', 'Corefile:2 - Error during parsing: upstreams over tls:// are not supported'],
    ['. {\n  forward . example.org\n}', 'Corefile:2 - Error during parsing: not an IP address or file: "example.org"'],
    ['. {\n  forward .\n}', "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after '.'"],
    ['. {\n  cache x\n  cache\n}', 'Corefile:3 - Error during parsing: this plugin can only be used once per Server Block'],
    ['. {\n  health 8080\n}', 'Corefile:2 - Error during parsing: "8080" is no address with a port'],
    ['. {\n  health {\n    lameduck soon\n  }\n}', 'Corefile:3 - Error during parsing: time: invalid duration "soon"'],
    ['. {\n  errors', "Corefile:1 - Error during parsing: unexpected EOF: '{' is not closed"],
    ['. {\n}\n}', "Corefile:3 - Error during parsing: unexpected '}'"],
    ['. {\n  errors "x\n}', 'Corefile:2 - Error during parsing: a quote is not closed'],
    ['tls://. {\n}', 'Corefile:1 - Error during parsing: transport tls:// is not supported'],
    ['10.0.0.0/9 {\n}', 'Corefile:1 - Error during parsing: unable to normalize "10.0.0.0/9"'],
    ['. {\n}\n. {\n}', 'cannot serve dns://.:53 - it is already defined'],
    ['', 'Corefile - Error during parsing: no server block'],
  ])('that is wrong says where: %j', (text, message) => {
    expect(() => parse(text)).toThrow(new CorefileError(message))
  })

  it('of any words is understood or refused', () => {
    const word = fc.oneof(
      fc.constantFrom(
        '{',
        '}',
        '\n',
        '\n',
        '.',
        '.:53',
        'kubernetes',
        'forward',
        'cache',
        'ttl',
        '30',
        'hosts',
        'log',
        'class',
        'all',
        'reload',
        '5s',
        '"',
        '#',
        '1.2.3.4',
        'fallthrough',
      ),
      fc.string({ maxLength: 6 }),
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), (words) => {
        try {
          parse(words.join(' '))
        } catch (e) {
          expect(e).toBeInstanceOf(CorefileError)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe("a machine's resolv.conf", () => {
  it('names servers', () => {
    expect(resolvConfUpstreams('# x\nnameserver 192.0.2.1\nsearch a b\n nameserver\t2001:db8::1 # y\nnameserver nothing\n#nameserver 192.0.2.3\n')).toEqual([
      { address: '192.0.2.1', port: 53 },
      { address: '2001:db8::1', port: 53 },
    ])
  })
})
