"""The models that the suite `import` brings to cairn. Each function returns a module, example inputs and a loss. The
modules come from packages, unedited, except for `encoder_lstm`, `states`, `relative`, `rows`, `pictures` and
`losses`."""

import inspect

import torch
import torch.nn.functional as F


def classifies(module, x, classes, at=None):
    """A module whose output, or the output `at`, has logits of classes."""
    name = next(iter(inspect.signature(module.forward).parameters))
    inputs = {name: x, 'labels': torch.randint(0, classes, (len(x),))}
    return module, inputs, lambda outputs, given: F.cross_entropy(outputs[at] if at else outputs, given['labels'])


def images(count, size):
    return torch.randn(count, 3, size, size)


def resnet18():
    import torchvision
    return classifies(torchvision.models.resnet18(num_classes=10), images(8, 64), 10)


def mobilenet_v2():
    import torchvision
    return classifies(torchvision.models.mobilenet_v2(num_classes=10, dropout=0.0), images(8, 64), 10)


def densenet121():
    import torchvision
    return classifies(torchvision.models.densenet121(num_classes=10), images(8, 64), 10)


def unet():
    import segmentation_models_pytorch
    module = segmentation_models_pytorch.Unet('resnet18', encoder_weights=None, classes=2)
    inputs = {'x': images(4, 64), 'mask': torch.randint(0, 2, (4, 64, 64))}
    return module, inputs, lambda outputs, given: F.cross_entropy(outputs, given['mask'])


def vit_tiny():
    import timm
    return classifies(timm.create_model('vit_tiny_patch16_224', num_classes=10, img_size=64), images(8, 64), 10)


def swin():
    import torchvision
    module = torchvision.models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10,
                                                stochastic_depth_prob=0.0)
    return classifies(module, images(4, 64), 10)


def tokens(bound, count=4, length=32):
    return torch.randint(0, bound, (count, length))


def next_token(outputs, given):
    return F.cross_entropy(outputs.logits[:, :-1].flatten(0, 1), given['input_ids'][:, 1:].flatten())


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=4, n_embd=128, n_head=4, vocab_size=1000, n_positions=64, bos_token_id=0, eos_token_id=0,
                        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False)
    return GPT2LMHeadModel(config), {'input_ids': tokens(1000)}, next_token


def bert():
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(num_hidden_layers=4, hidden_size=128, num_attention_heads=4, intermediate_size=512, vocab_size=1000,
                        num_labels=3, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return BertForSequenceClassification(config), {'input_ids': tokens(1000), 'labels': torch.randint(0, 3, (4,))}


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(num_hidden_layers=4, hidden_size=128, num_attention_heads=8, num_key_value_heads=2,
                         intermediate_size=344, vocab_size=1000, use_cache=False)
    return LlamaForCausalLM(config), {'input_ids': tokens(1000)}, next_token


def t5():
    from transformers import T5Config, T5EncoderModel
    config = T5Config(vocab_size=1000, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, dropout_rate=0.0)
    return T5EncoderModel(config), {'input_ids': tokens(1000)}, lambda outputs, given: outputs[0].square().mean()


class EncoderLstm(torch.nn.Module):
    """Twenty lines of our own, of modules of torch.nn alone."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)
        self.lstm = torch.nn.LSTM(64, 48, 2, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(96, 5)

    def forward(self, x):
        y, _ = self.lstm(self.encoder(x))
        return self.head(y[:, -1])


def encoder_lstm():
    return classifies(EncoderLstm(), torch.randn(8, 20, 64), 5)


class States(torch.nn.Module):
    """Reads the last states of recurrent layers, the weights of attention, and a mask. It is our own."""

    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(8, 6, 2, batch_first=True, bidirectional=True)
        self.lstm = torch.nn.LSTM(8, 6, batch_first=True)
        self.rnn = torch.nn.RNN(8, 6, batch_first=True)
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = torch.nn.Linear(6, 3)

    def forward(self, x, seen):
        y, weights = self.attention(x, x, x)
        y = (weights @ y).masked_fill(~(seen & (x > -1)), 0)
        features, states = self.gru(y)
        _, (_, cells) = self.lstm(y)
        _, last = self.rnn(y)
        return self.head(states[-1] + cells[0] + last.squeeze(0) + features[:, 0, :6])


def states():
    module, inputs, loss = classifies(States(), torch.randn(8, 8, 8), 3)
    return module, inputs | {'seen': torch.rand(8, 8, 8) > 0.2}, loss


class Relative(torch.nn.Module):
    """Looks up tables at constant indices: buckets of distances as in T5, a table for a window of 3 x 4 positions as in
    Swin, and features in another order. A constant mask is written through views. The model is our own."""

    def __init__(self):
        super().__init__()
        self.buckets = torch.nn.Embedding(6, 2)
        self.table = torch.nn.Parameter(torch.randn(35, 2))
        at = torch.stack(torch.meshgrid(torch.arange(3), torch.arange(4), indexing='ij')).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]) + torch.tensor([2, 3]).reshape(2, 1, 1)
        self.register_buffer('relative_position_index', 7 * apart[0] + apart[1])
        self.register_buffer('order', torch.tensor([3, 0, 5, 2]), persistent=False)
        self.qkv, self.head = torch.nn.Linear(8, 24), torch.nn.Linear(4, 3)

    def forward(self, x):
        places = torch.arange(12)
        distances = (places[None, :] - places[:, None]).abs()
        bucket = torch.where(distances < 4, distances, 4 + (distances > 7).long())
        bias = self.buckets(bucket).permute(2, 0, 1)
        bias = bias + self.table[self.relative_position_index.view(-1)].view(12, 12, 2).permute(2, 0, 1)
        mask = x.new_zeros(12, 12)
        for part in (slice(0, 4), slice(4, None)):
            mask[part, part] = 1
        bias = bias + torch.where(mask > 0, 0.0, -100.0)
        q, k, v = self.qkv(x).view(-1, 12, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)
        y = y[..., self.order] + y.index_select(2, torch.tensor([1, 1, -1 + 8, 0]))
        nearest = y.gather(1, (places % 3).view(1, 12, 1).expand(len(x), 12, 4))
        return self.head((y + nearest[:, [0, 2, -1, 1, 3]].sum(1, keepdim=True) * distances.float()[1, 2])[:, 3])


def relative():
    return classifies(Relative(), torch.randn(8, 12, 8), 3)


class Rows(torch.nn.Module):
    """Sorts rows, reads them at indices, and calls functions that cairn has, or that PyTorch divides into others. It is our
    own."""

    def __init__(self):
        super().__init__()
        self.enter = torch.nn.Linear(6, 8)
        self.slope = torch.nn.PReLU(8)
        self.cell = torch.nn.GRUCell(8, 8)
        self.table = torch.nn.Parameter(torch.randn(5, 8))
        self.head = torch.nn.Linear(69, 3)

    def sorted(self, y):
        values, places = y.sort(1, descending=True)
        most, where = y.max(1, keepdim=True)
        few, _ = y.topk(3, largest=False)
        return [values * places.argsort(1), y.gather(1, y.topk(2).indices), most * (where > 2), few, y.amin(1, keepdim=True)]

    def looked_up(self, y, at):
        rows = self.table[at] + self.table.index_select(1, y[:5].argmax(1)).sum()
        sums = torch.zeros(5, 8).index_add(0, at, y) + torch.zeros(5, 8).scatter_add(0, at[:, None].expand(-1, 8), y.abs())
        return [rows * sums[at], y[torch.arange(8), at][:, None], F.one_hot(at, 5) * y[:, ::2][:, :1]]

    def normalized(self, y):
        z = F.normalize(y) @ F.normalize(y * y, dim=0).T
        return [z, y.norm(p=1, dim=1, keepdim=True), F.cosine_similarity(y, z)[:, None], F.layer_norm(y, (8, 8)).tril(),
                y.std(1, keepdim=True), (y > 0).any(1, keepdim=True) * y[:, 3:4]]

    def activated(self, y):
        z = F.selu(y) + F.celu(y, 0.5) + F.softshrink(y) + F.logsigmoid(y) + F.softplus(y, 2) + torch.lerp(y, y * y, 0.3)
        return [z.roll(3), F.glu(y), torch.addcmul(y, z, y).cumsum(1).flip(1)]

    def forward(self, x, at):
        y = self.slope(self.enter(x))
        y = self.cell(y, self.cell(y))
        return self.head(torch.cat(self.sorted(y) + self.looked_up(y, at) + self.normalized(y) + self.activated(y), 1))


def rows():
    module, inputs, loss = classifies(Rows(), torch.randn(8, 6), 3)
    return module, inputs | {'at': torch.randint(0, 5, (8,))}, loss


class Pictures(torch.nn.Module):
    """Norms, pools and rearrangements of small images. It is our own."""

    def __init__(self):
        super().__init__()
        self.enter = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.InstanceNorm2d(8, affine=True),
                                         torch.nn.PReLU())
        self.head = torch.nn.Linear(182, 3)

    def forward(self, x, at):
        y = self.enter(x)
        half = F.glu(y, 1)
        parts = [F.adaptive_max_pool2d(y[:, :2], 3), F.adaptive_avg_pool2d(half, (2, 5)), F.instance_norm(y).amax((2, 3)),
                 F.group_norm(half[:, at], 2).mean((2, 3)), F.pixel_shuffle(y, 2)[:, :, ::4, 1::4], y.max(1)[0][:, :2],
                 y.sort(1)[0][:, :2, 3], y.topk(2, 1)[0][:, :, :, 4], F.max_pool1d(y[:, 0], 2)[:, :2],
                 y.flatten(2).norm(dim=2), F.normalize(y)[:, 0, 0], F.cosine_similarity(half, y[:, 4:])[:, 1]]
        return self.head(torch.cat([part.flatten(1) for part in parts], 1))


def pictures():
    module, inputs, loss = classifies(Pictures(), images(4, 8), 3)
    return module, inputs | {'at': torch.randint(0, 4, (4,))}, loss


def compared(outputs, given):
    """The sum of many losses."""
    x, y, t, at = outputs, given['y'], given['signs'], given['labels']
    p, log_q = y.softmax(1), x.log_softmax(1)
    return sum([
        F.smooth_l1_loss(x, y), F.smooth_l1_loss(x, y, beta=0.5, reduction='sum'), F.huber_loss(x, y, delta=0.3),
        F.mse_loss(x, y, reduction='sum'), F.l1_loss(x, y, reduction='none').max(), F.kl_div(log_q, p, reduction='sum'),
        F.kl_div(log_q, p, reduction='batchmean'),
        F.kl_div(log_q, y.log_softmax(1), reduction='batchmean', log_target=True),
        F.nll_loss(log_q, at, reduction='sum'), F.cross_entropy(x, at, reduction='none').square().mean(),
        F.cross_entropy(x, p, label_smoothing=0.1), F.cross_entropy(F.normalize(x) @ F.normalize(y).T / 0.1, torch.arange(8)),
        F.binary_cross_entropy(x.sigmoid(), p), F.binary_cross_entropy_with_logits(x, p, pos_weight=torch.arange(1.0, 7.0)),
        F.triplet_margin_loss(x, y, x * y), F.triplet_margin_loss(x, y, x * y, margin=0.5, swap=True),
        F.cosine_embedding_loss(x, y, t, 0.2), F.margin_ranking_loss(x[:, 0], y[:, 0], t, 0.1),
        F.hinge_embedding_loss(x[:, 1], t), F.soft_margin_loss(x[:, 2], t), F.poisson_nll_loss(x, p),
        F.multi_margin_loss(x, at)])


class Judged(torch.nn.Module):
    """A linear layer, whose results are compared by many losses. It is our own."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(6, 6)

    def forward(self, x):
        return self.head(x)


def losses():
    inputs = {'x': torch.randn(8, 6), 'y': torch.randn(8, 6), 'signs': torch.randn(8).sign(), 'labels': torch.randint(0, 6, (8,))}
    return Judged(), inputs, compared


def tcn():
    import pytorch_tcn
    module = pytorch_tcn.TCN(16, [32, 32, 32], dropout=0.0, output_projection=4)
    inputs = {'x': torch.randn(8, 16, 48), 'target': torch.randn(8, 4, 48)}
    return module, inputs, lambda outputs, given: F.mse_loss(outputs, given['target'])


PACKAGES = {
    resnet18: 'torchvision', mobilenet_v2: 'torchvision', densenet121: 'torchvision', unet: 'segmentation-models-pytorch',
    vit_tiny: 'timm', swin: 'torchvision', gpt2: 'transformers', bert: 'transformers', llama: 'transformers',
    t5: 'transformers', encoder_lstm: 'torch', states: 'torch', relative: 'torch', rows: 'torch', pictures: 'torch',
    losses: 'torch', tcn: 'pytorch-tcn'}
